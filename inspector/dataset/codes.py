"""ISO codes that a model may write for a name: currencies (4217), countries (3166-1), languages (639-1)."""

_CURRENCIES = (
    "aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bhd bif bmd bnd bob brl bsd btn bwp byn bzd cad cdf chf "
    "clp cny cop crc cup cve czk djf dkk dop dzd egp ern etb eur fjd fkp gbp gel ghs gip gmd gnf gtq gyd hkd hnl htg "
    "huf idr ils inr iqd irr isk jmd jod jpy kes kgs khr kmf kpw krw kwd kyd kzt lak lbp lkr lrd lsl lyd mad mdl mga "
    "mkd mmk mnt mop mru mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd omr pab pen pgk php pkr pln pyg qar ron rsd "
    "rub rwf sar sbd scr sdg sek sgd shp sle sos srd ssp stn svc syp szl thb tjs tmt tnd top try ttd twd tzs uah ugx "
    "usd uyu uzs ves vnd vuv wst xaf xau xag xcd xof xpf yer zar zmw zwl"
)
_COUNTRIES = (
    "ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br bs bt bv bw by bz ca "
    "cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg eh er es et fi fj fk fm fo fr ga "
    "gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp "
    "ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq mr ms "
    "mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs "
    "ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw "
    "tz ua ug um us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw"
)
_COUNTRIES_OF_THREE = (
    "afg ago aia alb and are arg arm asm aus aut aze bdi bel ben bfa bgd bgr bhr bhs bih blr blz bmu bol bra brb brn "
    "btn bwa caf can che chl chn civ cmr cod cog col com cpv cri cub cyp cze deu dji dma dnk dom dza ecu egy eri esp "
    "est eth fin fji fra gab gbr geo gha gin gmb gnb gnq grc grd gtm guy hkg hnd hrv hti hun idn ind irl irn irq isl "
    "isr ita jam jor jpn kaz ken kgz khm kir kna kor kwt lao lbn lbr lby lca lie lka lso ltu lux lva mac mar mco mda "
    "mdg mdv mex mkd mli mlt mmr mne mng moz mrt mus mwi mys nam ner nga nic nld nor npl nru nzl omn pak pan per phl "
    "png pol pri prk prt pry pse qat rou rus rwa sau sdn sen sgp slb sle slv smr som srb ssd sur svk svn swe swz syc "
    "syr tcd tgo tha tjk tkm tls ton tto tun tur tuv twn tza uga ukr ury usa uzb vat vct ven vnm vut wsm yem zaf zmb "
    "zwe"
)
_LANGUAGES = (
    "aa ab af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cv cy da de dv dz ee el en eo es "
    "et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg "
    "ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl "
    "nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv "
    "sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
_CODES = frozenset(f"{_CURRENCIES} {_COUNTRIES} {_COUNTRIES_OF_THREE} {_LANGUAGES}".split())


def is_iso_code(text: str) -> bool:
    """Whether a text is an ISO code of a currency, a country or a language, or a locale such as `en-US`."""
    if len(text) in (2, 3):
        return text.lower() in _CODES
    language, _, country = text.replace("_", "-").partition("-")
    return len(text) == 5 and language.lower() in _CODES and country.lower() in _CODES
