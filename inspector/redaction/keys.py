"""Keys that are identified by their prefix: the table of their shapes, and the search for them in a text.

A prefix counts only where a word begins: at the text's beginning, after any character that is no letter or digit, and
after an escape, whose last letter is not part of the word after it: a line end in JSON at any level, `%0A`, a colour of
a terminal. Within a long run of key characters a dash begins no word, because such a run is one value.

`gitleaks` is `config/gitleaks.toml` of gitleaks/gitleaks (8.30.1, its 222 rules compared on 2026-11-28), `betterleaks`
the rule set of that name (2.0.0-rc.4 of 2026-10, 465 rules), `kingfisher` the rules of mongodb/kingfisher (1.112.0, as
`kingfisher rules list` of the package kingfisher-bin prints its 1,055, without their first part), and `detect-secrets`
the plugins of Yelp/detect-secrets (1.5.0 of 2024-05), all compared on the same day, each with the name of its rule. Any
other source is a provider's own: a repository and a file in it, or a page of its documentation and the word there;
`IETF/RFC7468` is a label of that standard in base 64.
If nothing else has such a prefix, a shape requires less than the real length and alphabet, so that a key that was cut
or mistyped is redacted too.
"""

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from weaklink.inspector.redaction import secret_values
from weaklink.inspector.scanning import lazy_pattern, one_of

_CHARACTERS = {
    "ALNUM": "A-Za-z0-9",
    "WORD": "A-Za-z0-9_-",
    "DOTTED": "A-Za-z0-9_.-",
    "CAPITALS": "A-Z0-9",
    "HEX": "A-Fa-f0-9",
    "HEX_WORD": "A-Fa-f0-9_-",
    "BASE64": "A-Za-z0-9+/=_-",
}

SECRET_HEADERS = frozenset(
    {
        *("authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key", "x-goog-api-key"),
        *("x-weaklink-token", "helicone-auth", "x-portkey-api-key", "x-auth-token", "x-amz-security-token"),
        *("ocp-apim-subscription-key", "x-csrf-token", "x-xsrf-token", "x-litellm-api-key", "x-access-token"),
    }
)
"""Headers, in lower case, whose whole value is secret, except for the scheme before it (`Bearer`)."""

RUN_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-+/=~"
_LOOK = 64
_LONGEST_TOKEN_PART, _MAX_EXAMINED_CHARS = 384, 448

_ESCAPE_END = lazy_pattern(
    r"""(?:\\[nrtbfvae0] | \\u[0-9a-f]{4} | \\U[0-9a-f]{8} | \\x[0-9a-f]{2} | \\[0-7]{1,3} | %(?:25)*[0-9a-f]{2}
    | =(?:3D|0A|0D|20|22) | \[[0-9;]{0,8}m)\Z""",
    re.VERBOSE | re.IGNORECASE,
)

_BLOB = lazy_pattern(r"[A-Za-z0-9_-]{40}\Z")
_TOKEN_PART = lazy_pattern(r"[A-Za-z0-9_-]*")
_TOKEN_REST = lazy_pattern(r"[A-Za-z0-9_.-]*")


class KeyShape(Struct, frozen=True):
    """A key whose `prefix` begins a word; at least `at_least` characters of the set `secret` follow.

    The prefix stays readable and the whole run of `secret` characters after it is redacted. `is_free`: the prefix may
    follow a letter or digit. `must_mix`: within the first 64 characters there must be a segment with a digit and a
    letter, or with both cases, because words joined by dashes have the same shape.
    """

    name: str
    source: str
    prefix: str
    at_least: int = 20
    secret: str = "A-Za-z0-9_-"
    is_free: bool = False
    must_mix: bool = True


_TABLE = r"""
gitleaks ALNUM 20: huggingface-access-token=hf_ huggingface-organization-api-token=api_org_ perplexity-api-key=pplx-
  alibaba-access-key-id=LTAI digitalocean-pat=dop_v1_ digitalocean-access-token=doo_v1_
  digitalocean-refresh-token=dor_v1_ github-pat=ghp_ github-oauth=gho_ github-app-token=ghu_ github-app-token=ghs_
  github-refresh-token=ghr_ gitlab-ptt=glptt- linear-api-key=lin_api_ npm-access-token=npm_
  rubygems-api-token=rubygems_ clojars-api-token=CLOJARS_ new-relic-user-api-key=NRAK- sentry-user-token=sntryu_
  prefect-api-token=pnu_ doppler-api-token=dp.pt. shopify-access-token=shpat_ shopify-custom-access-token=shpca_
  shopify-private-app-access-token=shppa_ shopify-shared-secret=shpss_ shippo-api-token=shippo_live_
  shippo-api-token=shippo_test_ notion-api-token=ntn_ readme-api-token=rdme_
gitleaks WORD 20: anthropic-api-key=sk-ant- openai-api-key=sk-proj- openai-api-key=sk-svcacct-
  openai-api-key=sk-admin- heroku-api-key-v2=HRKU-AA scalingo-api-token=tk-us- github-fine-grained-pat=github_pat_
  gitlab-deploy-token=gldt- gitlab-cicd-job-token=glcbt- gitlab-feature-flag-client-token=glffct-
  gitlab-feed-token=glft- gitlab-incoming-mail-token=glimt- gitlab-kubernetes-agent-token=glagent-
  gitlab-oauth-app-secret=gloas- gitlab-rrt=GR1348941 gitlab-scim-token=glsoat- sourcegraph-access-token=sgp_
  postman-api-token=PMAK- new-relic-insert-key=NRII- grafana-service-account-token=glsa_ square-access-token=sq0atp-
  plaid-api-token=access-sandbox- plaid-api-token=access-production- duffel-api-token=duffel_live_
  duffel-api-token=duffel_test_ sendinblue-api-token=xkeysib- frameio-api-token=fio-u-
gitleaks DOTTED 20: gitlab-pat=glpat- gitlab-runner-authentication-token=glrt- dynatrace-api-token=dt0c01.
  vault-service-token=hvs. vault-batch-token=hvb. planetscale-api-token=pscale_tkn_
  planetscale-oauth-token=pscale_oauth_ planetscale-password=pscale_pw_ sendgrid-api-token=SG. typeform-api-token=tfp_
gitleaks ALNUM 16: stripe-access-token=sk_live_ stripe-access-token=sk_test_ stripe-access-token=sk_prod_
  stripe-access-token=rk_live_ stripe-access-token=rk_test_ stripe-access-token=rk_prod_
  settlemint-application-access-token=sm_aat_ settlemint-personal-access-token=sm_pat_
  settlemint-service-access-token=sm_sat_
gitleaks BASE64 20: flyio-access-token=fm1a_ flyio-access-token=fm1r_ flyio-access-token=fm2_
  atlassian-api-token=ATATT3 sentry-org-token=sntrys_ grafana-cloud-api-token=glc_
  1password-service-account-token=ops_eyJ
gitleaks WORD 20 words: slack-bot-token=xoxb- slack-user-token=xoxp- slack-legacy-token=xoxs- slack-legacy-token=xoxo-
  slack-config-access-token=xoxe.xox slack-config-refresh-token=xoxe- slack-app-token=xapp-
gitleaks CAPITALS 16 words: aws-access-token=AKIA aws-access-token=ASIA aws-access-token=ABIA aws-access-token=ACCA
gitleaks WORD 40: flyio-access-token=fo1_ openshift-user-token=sha256~
gitleaks HEX 32 words: databricks-api-token=dapi twilio-api-key=SK
gitleaks WORD 15 words: slack-legacy-workspace-token=xoxa- slack-legacy-workspace-token=xoxr-
gitleaks ALNUM 30: infracost-api-token=ico- adobe-client-secret=p8e-
gitleaks DOTTED 60: harness-api-key=pat. harness-api-key=sat.
gitleaks ALNUM 90: facebook-page-access-token=EAAC facebook-page-access-token=EAAM
gitleaks ALNUM 50: easypost-api-token=EZAK easypost-test-api-token=EZTK
gitleaks WORD 33: gcp-api-key=AIza
gitleaks HEX_WORD 80: cloudflare-origin-ca-key=v1.0-
gitleaks WORD 35: yandex-api-key=AQVN
gitleaks WORD 30: pypi-upload-token=pypi-
gitleaks ALNUM 60: artifactory-api-key=AKCp
gitleaks ALNUM 55: artifactory-reference-token=cmVmd
gitleaks BASE64 60: grafana-api-key=eyJrIjoi
gitleaks HEX 36: pulumi-api-token=pul-
gitleaks WORD 50 free: hashicorp-tf-api-token=.atlasv1.
gitleaks A-Z0-9- 30: 1password-secret-key=A3-
gitleaks CAPITALS 30: age-secret-key=AGE-SECRET-KEY-1
gitleaks CAPITALS 26: octopus-deploy-api-key=API-
gitleaks ALNUM 38: clickhouse-cloud-api-secret-key=4b1d
gitleaks WORD 50: square-access-token=EAAA
gitleaks WORD 12: flutterwave-secret-key=FLWSECK_TEST-
gitleaks HEX 40: intra42-client-secret=s-s4t2ud- intra42-client-secret=s-s4t2af-
gitleaks HEX 32: mailgun-private-api-token=key-
gitleaks WORD 100: dropbox-short-lived-api-token=sl.
betterleaks WORD 20: togetherai-api-key=tgp_v1_ pinecone-api-key.2=pcsk_ vercel-ai-gateway-key=vck_
  vercel-personal-access-token=vcp_ vercel-integration-token=vci_ vercel-app-access-token=vca_
  vercel-app-refresh-token=vcr_ weights-and-biases-api-key-v1=wandb_v1_ circleci-personal-token=CCIPAT_
  supabase-management-token=sbp_ supabase-project-api-key=sb_secret_ polar-organization-access-token=polar_oat_
  polar-personal-access-token=polar_pat_ polar-oauth-access-token=polar_at_ val-town-api-token.1=vtwn_
  paddle-live-api-key=pdl_live_apikey_ brave-search-api-key=BSA resend-api-key.1=re_
betterleaks ALNUM 20: cerebras-api-key=csk- neon-api-key=napi_ deno-account-token=ddp_ apify-api-token=apify_api_
  llama-cloud-api-key.1=llx- runpod-api-key.1=rpa_ unkey-root-key.1=unkey_ mailersend-api-token=mlsn.
  render-api-key=rnd_ wakatime-api-key.2=waka_
betterleaks BASE64 80: devin-service-api-key=apk_ devin-personal-api-key=apk_user_
betterleaks ALNUM 32: crates-io-api-key=cio
betterleaks ALNUM 48: devin-service-user-token=cog_
betterleaks HEX 64: cursor-api-key=key_
betterleaks ALNUM 24: mem0-api-key.1=m0-
betterleaks ALNUM 20: aikido-ci-token=AIK_CI_ upcloud-api-token=ucat_ samsara-api-token.1=samsara_api_
betterleaks ALNUM 32: aikido-client-secret=AIK_SECRET_ cloudsmith-api-key=csa_ ionic-personal-access-token=ion_
  nylas-api-key.1=nyk_ ramp-client-secret=ramp_sec_ xendit-production-api-key=xnd_production_
betterleaks HEX 40: rootly-api-key.1=rootly_
betterleaks WORD 20: pinterest-access-token=pina_ persona-production-api-key=persona_production_
  proof-full-access-api-key=prf_ thunderstore-api-token.1=tss_ onfido-live-api-token-ca=api_live_ca.
  onfido-live-api-token-eu=api_live. onfido-live-api-token-us=api_live_us. lichess-personal-access-token=lip_
  mergify-application-key=mergify_application_key_ mercury-production-api-token=mercury_production_
betterleaks WORD 32: buildkite-service-token=bkaa_ buildkite-service-token=bkaj_ buildkite-service-token=bkar_
  buildkite-service-token=bkct_ buildkite-service-token=bkpt_ buildkite-service-token=bkpat_ canva-client-secret=cnvca
  cockroachlabs-cloud-api-key=CCDB1_ gcp-gemini-api=AQ.Ab8RN6 mongodb-atlas-service-account-secret=mdb_sa_sk_
  onesignal-rich-authentication-token=os_v2_app_ onesignal-rich-authentication-token=os_v2_org_
  zuplo-consumer-api-key.1=zpka_ docker-swarm-join-token=SWMTKN-1-
betterleaks BASE64 32: bitbucket-data-center-token=BBDC- docker-swarm-unlock-key=SWMKEY-1-
  elastic-cloud-api-key=essu_
betterleaks ALNUM 16: devcycle-server-sdk-key=dvc_server_
kingfisher WORD 20: openrouter.1=sk-or-v1- langfuse.1=sk-lf- xai.1=xai- replicate.1=r8_ nvidia.nim.1=nvapi-
  tavily.1=tvly- google.2=GOCSPX- dockerhub.1=dckr_pat_ dockerhub.3=dckr_oat_ langchain.1=lsv2_pt_
  langchain.2=lsv2_sk_ tailscale.1=tskey- flutterwave.2=FLWSECK- figma.1=figd_ contentful.2=CFPAT-
kingfisher ALNUM 20: groq.1=gsk_ netlify.3=nfp_ buildkite.1=bkua_ sonarqube.1=sqp_ sonarqube.1=squ_ sonarqube.1=sqa_
  posthog.2=phx_ notion.1=secret_ fireworks.1=fw_ jina.1=jina_
kingfisher WORD 18: deepseek.1=sk-
kingfisher WORD 40: voyageai.api_key=pa-
kingfisher HEX 32: firecrawl.1=fc-
kingfisher HEX 40: elevenlabs.1=sk_
kingfisher ALNUM 28: bitbucket.5=ATBB
kingfisher ALNUM 43: nuget.1=oy2
kingfisher WORD 20 words: slack.5=xoxd-
kingfisher DOTTED 20: doppler.3=dp.st.
kingfisher BASE64 20: stripe.3=whsec_ bitbucket.4=ATCTT3
kingfisher DOTTED 60: mapbox.2=sk.eyJ
detect-secrets DOTTED 20: gcp_key=ya29.
detect-secrets BASE64 80: amazon_bedrock=ABSK
detect-secrets BASE64 20: amazon_bedrock=bedrock-api-key-
detect-secrets WORD 16: aiven_token=AVNS_
detect-secrets WORD 20: square_oauth=sq0csp-
IETF/RFC7468 BASE64 12 words: private-key-in-base64=LS0tLS1CRUdJTiBSU0EgUFJJVkFURS
  private-key-in-base64=LS0tLS1CRUdJTiBQUklWQVRFIEtFWS
  private-key-in-base64=LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS private-key-in-base64=LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUg
  private-key-in-base64=LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFURSBLRV
Helicone/helicone WORD 20: valhalla/jawn/src/managers/apiKeys/KeyManager.ts=sk-helicone-
docs.honeycomb.io/api/authentication ALNUM 20: hcaik=hcaik_
trufflesecurity/trufflehog ALNUM 20: pkg/detectors/linearapi/linearapi.go=lin_oauth_
SonarSource/sonar-text ALNUM 32: S7007=AKID
pydantic/logfire WORD 20: logfire/_internal/auth.py=pylf_v1_
"""
"""Rows of rule set, characters, least length, and the rules with their prefixes; a row continues on indented lines."""


def _shapes() -> Iterator[KeyShape]:
    for row in _TABLE.strip().replace("\n  ", " ").splitlines():
        head, _, pairs = row.partition(": ")
        origin, characters, at_least, *options = head.split(" ")
        for pair in pairs.split(" "):
            rule, _, prefix = pair.partition("=")
            shape = KeyShape(rule, f"{origin} {rule}", prefix, int(at_least), _CHARACTERS.get(characters, characters))
            yield replace(shape, is_free="free" in options, must_mix="words" not in options)


KEYS = tuple(_shapes())

SHORTEST_KEY = min(len(key.prefix) + key.at_least for key in KEYS)
"""The length of the shortest key: a shorter run of key characters needs no check."""

_RUNS = bytes(97 if byte in RUN_CHARACTERS else 32 for byte in range(256))
_RUN = b"a" * SHORTEST_KEY


def runs_of(plain: bytes, *, is_final: bool = True) -> bytes:
    """An ASCII text with `a` for every key character and a blank for every other.

    Unless `is_final`, a run is appended, because the one at the text's end may continue.
    """
    runs = plain.translate(_RUNS)
    return runs if is_final else runs + _RUN


def has_long_run(runs: bytes) -> bool:
    """Whether a run is long enough for a key."""
    return _RUN in runs


def begins_word(text: str, at: int, free_at: int = -1) -> bool:
    """Whether a word begins at a position, also after an escape or a secret, the last of which ended at `free_at`."""
    if at in {0, free_at}:
        return True
    before = text[at - 1]
    if before.isascii() and before.isalnum():
        return _ESCAPE_END.search(text, max(at - 16, 0), at) is not None
    return before not in "_-" or _BLOB.search(text, max(at - 40, free_at, 0), at) is None


class KeyPlaces:
    """The places of key prefixes in runs that are long enough for a key."""

    may_reach_behind = False

    def __init__(self, text: str, runs: bytes) -> None:
        self._text, self._runs = text, runs
        self._run_end = 0
        self.at = self.begin = self.value_at = self.decided_at = -1

    def go_to(self, at: int) -> bool:
        """Go to the first place at or after `at`, which must not be before the last one; False if there is none."""
        while True:
            if at >= self._run_end:
                at = self._runs.find(_RUN, at)
                if at < 0:
                    return False
                end = self._runs.find(b" ", at)
                self._run_end = len(self._runs) if end < 0 else end
            found = _prefixes().search(self._text, at, min(self._run_end, len(self._text)))
            if found is not None:
                self.at = self.begin = at = found.start()
                self.decided_at = min(at + _MAX_EXAMINED_CHARS, min(self._run_end, len(self._text)) + 1)
                prefixes = (one.prefix for one in _by_first()[found[0][0]])
                self.value_at = at + min((len(one) for one in prefixes if found[0].startswith(one)), default=0)
                return True
            at = self._run_end

    def judge(self, free_at: int, *, is_final: bool) -> list[secret_values.Secret]:
        """The key at the current place, if there is one."""
        secret = judge_key(self._text, self.at, free_at=free_at, is_final=is_final)
        return [] if secret is None else [secret]


def judge_key(text: str, at: int, *, free_at: int, is_final: bool) -> secret_values.Secret | None:
    """The verdict on whether a key begins at a position."""
    begins = begins_word(text, at, free_at)
    keys = [one for one in _by_first()[text[at]] if text.startswith(one.prefix, at) and (begins or one.is_free)]
    secrets = [_judge(key, text, at + len(key.prefix), is_final=is_final) for key in keys]
    if any(secrets):
        return next(filter(None, secrets))
    if not begins:
        return None
    if text.startswith("eyJ", at):
        return _judge_token(text, at + 3, is_final=is_final)
    return _judge_discord(text, at, is_final=is_final)


def has_prefix(text: str, start: int) -> bool:
    """Whether a prefix of a key is at or after `start`."""
    return _prefixes().search(text, start) is not None


def _judge(key: KeyShape, text: str, start: int, *, is_final: bool) -> secret_values.Secret | None:
    run = _run(key.secret)
    look = max(key.at_least, _LOOK)
    end = run.pattern.match(text, start, start + look).end()  # type: ignore[union-attr]  # it may match nothing
    body = text[start:end]
    if len(body) >= key.at_least and (not key.must_mix or secret_values.has_random_segment(body)):
        return replace(secret_values.Secret.of(text, start, run, is_final=is_final), rule=key.source)
    return None


def _judge_token(text: str, start: int, *, is_final: bool) -> secret_values.Secret | None:
    """Judge a JSON Web Token: two parts or more, separated by dots."""
    end = _TOKEN_PART.match(text, start, start + _LONGEST_TOKEN_PART).end()  # type: ignore[union-attr]  # the same
    if end - start < 10 or not text.startswith(".", end):
        return None
    second = _TOKEN_PART.match(text, end + 1, end + 33).end()  # type: ignore[union-attr]  # the same
    if second - end < 12:
        return None
    return _rest(text, start, is_final=is_final, rule="JSON Web Token")


def _judge_discord(text: str, at: int, *, is_final: bool) -> secret_values.Secret | None:
    """Judge a Discord bot token: the bot's id in base 64, which stays readable, a time and a signature."""
    found = _discord_id().match(text, at)
    if found is None:
        return None
    start = found.end()
    body = _TOKEN_REST.match(text, start, start + 34)[0]  # type: ignore[index]  # the same
    if len(body) == 34 and body[6] == "." and "." not in body[:6] + body[7:] and secret_values.is_mixed(body):
        return _rest(text, start, is_final=is_final, rule="Discord bot")
    return None


def _rest(text: str, start: int, *, is_final: bool, rule: str) -> secret_values.Secret:
    secret = secret_values.Secret.of(text, start, secret_values.PatternRun(_TOKEN_REST), is_final=is_final)
    return replace(secret, rule=rule)


@cache
def _run(characters: str) -> secret_values.PatternRun:
    return secret_values.PatternRun(re.compile(f"[{characters}]*"))


@cache
def _discord_id() -> re.Pattern[str]:
    return re.compile(r"[MNO][A-Za-z0-9_-]{22,27}\.")


@cache
def _by_first() -> dict[str, tuple[KeyShape, ...]]:
    keys = sorted(KEYS, key=lambda key: -len(key.prefix))
    firsts = {key.prefix[0] for key in KEYS} | set("eMNO")
    return {first: tuple(key for key in keys if key.prefix[0] == first) for first in firsts}


@cache
def _prefixes() -> re.Pattern[str]:
    return re.compile("|".join((one_of(key.prefix for key in KEYS), "eyJ", r"[MNO](?=[A-Za-z0-9_-]{22,27}\.)")))
