"""Keys that are identified by their prefix: the table of their shapes, and the search for them in a text.

A prefix counts only where a word begins: at the text's beginning, after any character that is no letter or digit, and
after an escape, whose last letter is not part of the word after it: a line end in JSON at any level, `%0A`, a colour of
a terminal. Within a long run of key characters a dash begins no word, because such a run is one value.

`gitleaks` is `config/gitleaks.toml` of gitleaks/gitleaks, `betterleaks` the rule set of that name, `trufflehog` the
detectors in `pkg/detectors` of trufflesecurity/trufflehog, `detect-secrets` the plugins of Yelp/detect-secrets,
`kingfisher` the rules in `crates/kingfisher-rules/data/rules` of mongodb/kingfisher, each with the name of its rule.
Any other source is a provider's own: a repository and a file in it, or a page of its documentation and the word there.
If nothing else has such a prefix, a shape requires less than the real length and alphabet, so that a key that was cut
or mistyped is redacted too.
"""

import re
from functools import cache

from msgspec import Struct

from inspector.redaction import secret_values
from inspector.scanning import lazy_pattern

ALNUM = "A-Za-z0-9"
WORD = "A-Za-z0-9_-"
DOTTED = "A-Za-z0-9_.-"
CAPITALS = "A-Z0-9"
HEX = "A-Fa-f0-9"
HEX_WORD = "A-Fa-f0-9_-"
BASE64 = "A-Za-z0-9+/=_-"

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
_LONGEST_TOKEN_PART = 1_024

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
    secret: str = WORD
    is_free: bool = False
    must_mix: bool = True


KEYS: tuple[KeyShape, ...] = (
    # Model providers and routers.
    KeyShape("Anthropic", "gitleaks anthropic-api-key", "sk-ant-"),
    KeyShape("OpenAI project", "gitleaks openai-api-key", "sk-proj-"),
    KeyShape("OpenAI service account", "gitleaks openai-api-key", "sk-svcacct-"),
    KeyShape("OpenAI admin", "gitleaks openai-api-key", "sk-admin-"),
    KeyShape("OpenRouter", "trufflehog openrouter", "sk-or-v1-"),
    KeyShape("Langfuse", "trufflehog langfuse", "sk-lf-"),
    KeyShape("Helicone", "Helicone/helicone valhalla/jawn/src/managers/apiKeys/KeyManager.ts", "sk-helicone-"),
    KeyShape("OpenAI, DeepSeek, Moonshot and others of this shape", "trufflehog deepseek", "sk-", 18),
    KeyShape("Hugging Face", "gitleaks huggingface-access-token", "hf_", 20, ALNUM),
    KeyShape("Hugging Face organization", "gitleaks huggingface-organization-api-token", "api_org_", 20, ALNUM),
    KeyShape("Groq", "trufflehog groq", "gsk_", 20, ALNUM),
    KeyShape("xAI", "trufflehog xai", "xai-"),
    KeyShape("Perplexity", "gitleaks perplexity-api-key", "pplx-", 20, ALNUM),
    KeyShape("Replicate", "trufflehog replicate", "r8_"),
    KeyShape("NVIDIA", "trufflehog nvapi", "nvapi-"),
    KeyShape("Fireworks", "kingfisher kingfisher.fireworks.1", "fw_", 20, ALNUM),
    KeyShape("Cerebras", "betterleaks cerebras-api-key", "csk-", 20, ALNUM),
    KeyShape("Together", "betterleaks togetherai-api-key", "tgp_v1_"),
    KeyShape("Voyage", "kingfisher kingfisher.voyageai.api_key", "pa-", 40),
    KeyShape("Jina", "kingfisher kingfisher.jina.1", "jina_", 20, ALNUM),
    KeyShape("Tavily", "trufflehog tavily", "tvly-"),
    KeyShape("Firecrawl", "trufflehog firecrawl", "fc-", 32, HEX),
    KeyShape("ElevenLabs", "trufflehog elevenlabs", "sk_", 40, HEX),
    KeyShape("Pinecone", "betterleaks pinecone-api-key.2", "pcsk_"),
    KeyShape("Vercel AI gateway", "betterleaks vercel-ai-gateway-key", "vck_"),
    KeyShape("Vercel personal", "betterleaks vercel-personal-access-token", "vcp_"),
    KeyShape("Vercel integration", "betterleaks vercel-integration-token", "vci_"),
    KeyShape("Vercel app", "betterleaks vercel-app-access-token", "vca_"),
    KeyShape("Vercel app refresh", "betterleaks vercel-app-refresh-token", "vcr_"),
    KeyShape("Weights & Biases", "betterleaks weights-and-biases-api-key-v1", "wandb_v1_"),
    KeyShape("Google API", "gitleaks gcp-api-key", "AIza", 33),
    KeyShape("Google OAuth token", "detect-secrets gcp_key", "ya29.", 20, DOTTED),
    KeyShape("Google OAuth client", "trufflehog gcpoauth2", "GOCSPX-"),
    # Clouds.
    KeyShape("AWS access key", "gitleaks aws-access-token", "AKIA", 16, CAPITALS, must_mix=False),
    KeyShape("AWS temporary key", "gitleaks aws-access-token", "ASIA", 16, CAPITALS, must_mix=False),
    KeyShape("AWS bearer", "gitleaks aws-access-token", "ABIA", 16, CAPITALS, must_mix=False),
    KeyShape("AWS context", "gitleaks aws-access-token", "ACCA", 16, CAPITALS, must_mix=False),
    KeyShape("AWS Bedrock", "detect-secrets amazon_bedrock", "ABSK", 80, BASE64),
    KeyShape("AWS Bedrock, short-lived", "detect-secrets amazon_bedrock", "bedrock-api-key-", 20, BASE64),
    KeyShape("Alibaba", "gitleaks alibaba-access-key-id", "LTAI", 20, ALNUM),
    KeyShape("Tencent", "kingfisher kingfisher.tencent.1", "AKID", 32, ALNUM),
    KeyShape("DigitalOcean personal", "gitleaks digitalocean-pat", "dop_v1_", 20, ALNUM),
    KeyShape("DigitalOcean OAuth", "gitleaks digitalocean-access-token", "doo_v1_", 20, ALNUM),
    KeyShape("DigitalOcean refresh", "gitleaks digitalocean-refresh-token", "dor_v1_", 20, ALNUM),
    KeyShape("Cloudflare origin CA", "gitleaks cloudflare-origin-ca-key", "v1.0-", 80, HEX_WORD),
    KeyShape("Heroku", "gitleaks heroku-api-key-v2", "HRKU-AA"),
    KeyShape("Fly", "gitleaks flyio-access-token", "fo1_", 40),
    KeyShape("Fly macaroon a", "gitleaks flyio-access-token", "fm1a_", 20, BASE64),
    KeyShape("Fly macaroon r", "gitleaks flyio-access-token", "fm1r_", 20, BASE64),
    KeyShape("Fly macaroon 2", "gitleaks flyio-access-token", "fm2_", 20, BASE64),
    KeyShape("Scalingo", "gitleaks scalingo-api-token", "tk-us-"),
    KeyShape("Yandex", "gitleaks yandex-api-key", "AQVN", 35),
    KeyShape("Netlify", "trufflehog netlify", "nfp_", 20, ALNUM),
    KeyShape("Databricks", "gitleaks databricks-api-token", "dapi", 32, HEX, must_mix=False),
    KeyShape("OpenShift", "gitleaks openshift-user-token", "sha256~", 40),
    # Code hosts.
    KeyShape("GitHub personal", "gitleaks github-pat", "ghp_", 20, ALNUM),
    KeyShape("GitHub OAuth", "gitleaks github-oauth", "gho_", 20, ALNUM),
    KeyShape("GitHub user", "gitleaks github-app-token", "ghu_", 20, ALNUM),
    KeyShape("GitHub server", "gitleaks github-app-token", "ghs_", 20, ALNUM),
    KeyShape("GitHub refresh", "gitleaks github-refresh-token", "ghr_", 20, ALNUM),
    KeyShape("GitHub fine-grained", "gitleaks github-fine-grained-pat", "github_pat_"),
    KeyShape("GitLab personal", "gitleaks gitlab-pat", "glpat-", 20, DOTTED),
    KeyShape("GitLab deploy", "gitleaks gitlab-deploy-token", "gldt-"),
    KeyShape("GitLab job", "gitleaks gitlab-cicd-job-token", "glcbt-"),
    KeyShape("GitLab feature flags", "gitleaks gitlab-feature-flag-client-token", "glffct-"),
    KeyShape("GitLab feed", "gitleaks gitlab-feed-token", "glft-"),
    KeyShape("GitLab mail", "gitleaks gitlab-incoming-mail-token", "glimt-"),
    KeyShape("GitLab agent", "gitleaks gitlab-kubernetes-agent-token", "glagent-"),
    KeyShape("GitLab application", "gitleaks gitlab-oauth-app-secret", "gloas-"),
    KeyShape("GitLab pipeline", "gitleaks gitlab-ptt", "glptt-", 20, ALNUM),
    KeyShape("GitLab runner", "gitleaks gitlab-runner-authentication-token", "glrt-", 20, DOTTED),
    KeyShape("GitLab runner registration", "gitleaks gitlab-rrt", "GR1348941"),
    KeyShape("GitLab SCIM", "gitleaks gitlab-scim-token", "glsoat-"),
    KeyShape("Atlassian", "gitleaks atlassian-api-token", "ATATT3", 20, BASE64),
    KeyShape("Bitbucket app password", "trufflehog bitbucketapppassword", "ATBB", 28, ALNUM),
    KeyShape("Bitbucket repository", "kingfisher kingfisher.bitbucket.4", "ATCTT3", 20, BASE64),
    KeyShape("Sourcegraph", "gitleaks sourcegraph-access-token", "sgp_"),
    KeyShape("CircleCI", "betterleaks circleci-personal-token", "CCIPAT_"),
    KeyShape("Buildkite", "trufflehog buildkite", "bkua_", 20, ALNUM),
    KeyShape("SonarQube project", "trufflehog sonarcloud", "sqp_", 20, ALNUM),
    KeyShape("SonarQube user", "trufflehog sonarcloud", "squ_", 20, ALNUM),
    KeyShape("SonarQube analysis", "trufflehog sonarcloud", "sqa_", 20, ALNUM),
    KeyShape("Linear", "gitleaks linear-api-key", "lin_api_", 20, ALNUM),
    KeyShape("Linear OAuth", "trufflehog linearapi", "lin_oauth_", 20, ALNUM),
    KeyShape("Postman", "gitleaks postman-api-token", "PMAK-"),
    # Package registries.
    KeyShape("npm", "gitleaks npm-access-token", "npm_", 20, ALNUM),
    KeyShape("PyPI", "gitleaks pypi-upload-token", "pypi-", 30),
    KeyShape("RubyGems", "gitleaks rubygems-api-token", "rubygems_", 20, ALNUM),
    KeyShape("Clojars", "gitleaks clojars-api-token", "CLOJARS_", 20, ALNUM),
    KeyShape("crates.io", "betterleaks crates-io-api-key", "cio", 32, ALNUM),
    KeyShape("NuGet", "trufflehog nugetapikey", "oy2", 43, ALNUM),
    KeyShape("Artifactory", "gitleaks artifactory-api-key", "AKCp", 60, ALNUM),
    KeyShape("Artifactory reference", "gitleaks artifactory-reference-token", "cmVmd", 55, ALNUM),
    KeyShape("Docker personal", "trufflehog dockerhub", "dckr_pat_"),
    KeyShape("Docker organization", "trufflehog dockerhub", "dckr_oat_"),
    # Chat.
    KeyShape("Slack bot", "gitleaks slack-bot-token", "xoxb-", must_mix=False),
    KeyShape("Slack user", "gitleaks slack-user-token", "xoxp-", must_mix=False),
    KeyShape("Slack workspace", "gitleaks slack-legacy-workspace-token", "xoxa-", 15, must_mix=False),
    KeyShape("Slack refresh", "gitleaks slack-legacy-workspace-token", "xoxr-", 15, must_mix=False),
    KeyShape("Slack session", "gitleaks slack-legacy-token", "xoxs-", must_mix=False),
    KeyShape("Slack legacy", "gitleaks slack-legacy-token", "xoxo-", must_mix=False),
    KeyShape("Slack cookie", "trufflehog slack", "xoxd-", must_mix=False),
    KeyShape("Slack configuration", "gitleaks slack-config-access-token", "xoxe.xox", must_mix=False),
    KeyShape("Slack configuration refresh", "gitleaks slack-config-refresh-token", "xoxe-", must_mix=False),
    KeyShape("Slack app", "gitleaks slack-app-token", "xapp-", must_mix=False),
    KeyShape("Twilio", "gitleaks twilio-api-key", "SK", 32, HEX, must_mix=False),
    # Observability and operations.
    KeyShape("New Relic user", "gitleaks new-relic-user-api-key", "NRAK-", 20, ALNUM),
    KeyShape("New Relic insert", "gitleaks new-relic-insert-key", "NRII-"),
    KeyShape("Sentry organization", "gitleaks sentry-org-token", "sntrys_", 20, BASE64),
    KeyShape("Sentry user", "gitleaks sentry-user-token", "sntryu_", 20, ALNUM),
    KeyShape("Grafana service account", "gitleaks grafana-service-account-token", "glsa_"),
    KeyShape("Grafana cloud", "gitleaks grafana-cloud-api-token", "glc_", 20, BASE64),
    KeyShape("Grafana API", "gitleaks grafana-api-key", "eyJrIjoi", 60, BASE64),
    KeyShape("LangSmith personal", "trufflehog langsmith", "lsv2_pt_"),
    KeyShape("LangSmith service", "trufflehog langsmith", "lsv2_sk_"),
    KeyShape("PostHog personal", "trufflehog posthog", "phx_", 20, ALNUM),
    KeyShape("Dynatrace", "gitleaks dynatrace-api-token", "dt0c01.", 20, DOTTED),
    KeyShape("Honeycomb", "docs.honeycomb.io/api/authentication hcaik", "hcaik_", 20, ALNUM),
    KeyShape("Logfire", "pydantic/logfire logfire/_internal/auth.py", "pylf_v1_"),
    KeyShape("Prefect", "gitleaks prefect-api-token", "pnu_", 20, ALNUM),
    KeyShape("Pulumi", "gitleaks pulumi-api-token", "pul-", 36, HEX),
    KeyShape("Terraform", "gitleaks hashicorp-tf-api-token", ".atlasv1.", 50, WORD, is_free=True),
    KeyShape("Vault service", "gitleaks vault-service-token", "hvs.", 20, DOTTED),
    KeyShape("Vault batch", "gitleaks vault-batch-token", "hvb.", 20, DOTTED),
    KeyShape("Doppler", "gitleaks doppler-api-token", "dp.pt.", 20, ALNUM),
    KeyShape("Doppler service", "trufflehog doppler", "dp.st.", 20, DOTTED),
    KeyShape("Infracost", "gitleaks infracost-api-token", "ico-", 30, ALNUM),
    KeyShape("1Password service account", "gitleaks 1password-service-account-token", "ops_eyJ", 20, BASE64),
    KeyShape("1Password secret", "gitleaks 1password-secret-key", "A3-", 30, "A-Z0-9-"),
    KeyShape("age", "gitleaks age-secret-key", "AGE-SECRET-KEY-1", 30, CAPITALS),
    KeyShape("Harness personal", "gitleaks harness-api-key", "pat.", 60, DOTTED),
    KeyShape("Harness service", "gitleaks harness-api-key", "sat.", 60, DOTTED),
    KeyShape("Octopus", "gitleaks octopus-deploy-api-key", "API-", 26, CAPITALS),
    KeyShape("Tailscale", "trufflehog tailscale", "tskey-"),
    # Databases.
    KeyShape("PlanetScale token", "gitleaks planetscale-api-token", "pscale_tkn_", 20, DOTTED),
    KeyShape("PlanetScale OAuth", "gitleaks planetscale-oauth-token", "pscale_oauth_", 20, DOTTED),
    KeyShape("PlanetScale password", "gitleaks planetscale-password", "pscale_pw_", 20, DOTTED),
    KeyShape("ClickHouse", "gitleaks clickhouse-cloud-api-secret-key", "4b1d", 38, ALNUM),
    KeyShape("Supabase", "betterleaks supabase-management-token", "sbp_"),
    KeyShape("Supabase secret", "betterleaks supabase-project-api-key", "sb_secret_"),
    KeyShape("Aiven", "detect-secrets aiven_token", "AVNS_", 16),
    KeyShape("Neon", "betterleaks neon-api-key", "napi_", 20, ALNUM),
    # Payment and shops.
    KeyShape("Stripe secret", "gitleaks stripe-access-token", "sk_live_", 16, ALNUM),
    KeyShape("Stripe test", "gitleaks stripe-access-token", "sk_test_", 16, ALNUM),
    KeyShape("Stripe production", "gitleaks stripe-access-token", "sk_prod_", 16, ALNUM),
    KeyShape("Stripe restricted", "gitleaks stripe-access-token", "rk_live_", 16, ALNUM),
    KeyShape("Stripe restricted test", "gitleaks stripe-access-token", "rk_test_", 16, ALNUM),
    KeyShape("Stripe restricted production", "gitleaks stripe-access-token", "rk_prod_", 16, ALNUM),
    KeyShape("Stripe webhook", "trufflehog stripe", "whsec_", 20, BASE64),
    KeyShape("Square token", "gitleaks square-access-token", "sq0atp-"),
    KeyShape("Square secret", "detect-secrets square_oauth", "sq0csp-"),
    KeyShape("Square access token", "gitleaks square-access-token", "EAAA", 50),
    KeyShape("Facebook page", "gitleaks facebook-page-access-token", "EAAC", 90, ALNUM),
    KeyShape("Facebook marketing", "gitleaks facebook-page-access-token", "EAAM", 90, ALNUM),
    KeyShape("Shopify", "gitleaks shopify-access-token", "shpat_", 20, ALNUM),
    KeyShape("Shopify custom", "gitleaks shopify-custom-access-token", "shpca_", 20, ALNUM),
    KeyShape("Shopify private", "gitleaks shopify-private-app-access-token", "shppa_", 20, ALNUM),
    KeyShape("Shopify shared", "gitleaks shopify-shared-secret", "shpss_", 20, ALNUM),
    KeyShape("Flutterwave", "gitleaks flutterwave-secret-key", "FLWSECK_TEST-", 12),
    KeyShape("Flutterwave live", "trufflehog flutterwave", "FLWSECK-"),
    KeyShape("Plaid sandbox", "gitleaks plaid-api-token", "access-sandbox-"),
    KeyShape("Plaid production", "gitleaks plaid-api-token", "access-production-"),
    KeyShape("Shippo live", "gitleaks shippo-api-token", "shippo_live_", 20, ALNUM),
    KeyShape("Shippo test", "gitleaks shippo-api-token", "shippo_test_", 20, ALNUM),
    KeyShape("EasyPost", "gitleaks easypost-api-token", "EZAK", 50, ALNUM),
    KeyShape("EasyPost test", "gitleaks easypost-test-api-token", "EZTK", 50, ALNUM),
    KeyShape("Duffel live", "gitleaks duffel-api-token", "duffel_live_"),
    KeyShape("Duffel test", "gitleaks duffel-api-token", "duffel_test_"),
    # Mail and other services.
    KeyShape("SendGrid", "gitleaks sendgrid-api-token", "SG.", 20, DOTTED),
    KeyShape("Brevo", "gitleaks sendinblue-api-token", "xkeysib-"),
    KeyShape("Mailgun", "gitleaks mailgun-private-api-token", "key-", 32, HEX),
    KeyShape("Notion", "gitleaks notion-api-token", "ntn_", 20, ALNUM),
    KeyShape("Notion, old", "trufflehog notion", "secret_", 20, ALNUM),
    KeyShape("Figma", "trufflehog figmapersonalaccesstoken", "figd_"),
    KeyShape("Typeform", "gitleaks typeform-api-token", "tfp_", 20, DOTTED),
    KeyShape("ReadMe", "gitleaks readme-api-token", "rdme_", 20, ALNUM),
    KeyShape("Frame.io", "gitleaks frameio-api-token", "fio-u-"),
    KeyShape("Adobe", "gitleaks adobe-client-secret", "p8e-", 30, ALNUM),
    KeyShape("Contentful", "trufflehog contentfulpersonalacesstoken", "CFPAT-"),
    KeyShape("Mapbox", "trufflehog mapbox", "sk.eyJ", 60, DOTTED),
    KeyShape("Dropbox", "gitleaks dropbox-short-lived-api-token", "sl.", 100, WORD),
    KeyShape("SettleMint application", "gitleaks settlemint-application-access-token", "sm_aat_", 16, ALNUM),
    KeyShape("SettleMint personal", "gitleaks settlemint-personal-access-token", "sm_pat_", 16, ALNUM),
    KeyShape("SettleMint service", "gitleaks settlemint-service-access-token", "sm_sat_", 16, ALNUM),
)

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

    def __init__(self, text: str, runs: bytes) -> None:
        self._text, self._runs = text, runs
        self._run_end = 0
        self.at = self.begin = -1

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
                self.at = self.begin = found.start()
                return True
            at = self._run_end

    def judge(self, free_at: int, *, is_final: bool) -> secret_values.SecretVerdict:
        """The verdict on the current place."""
        return judge_key(self._text, self.at, free_at=free_at, is_final=is_final)


def judge_key(text: str, at: int, *, free_at: int, is_final: bool) -> secret_values.SecretVerdict:
    """The verdict on whether a key begins at a position."""
    begins = begins_word(text, at, free_at)
    keys = [one for one in _by_first()[text[at]] if text.startswith(one.prefix, at) and (begins or one.is_free)]
    verdicts = [_judge(key, text, at + len(key.prefix), is_final=is_final) for key in keys]
    possible = [one for one in verdicts if one is not None]
    if possible:  # if the longest prefix is undecided, a shorter one may turn out to count
        return (
            possible[0]
            if isinstance(possible[0], secret_values.Secret)
            else secret_values.Undecided(min(one.start for one in possible))
        )
    if not begins:
        return None
    if text.startswith("eyJ", at):
        return _judge_token(text, at + 3, is_final=is_final)
    return _judge_discord(text, at, is_final=is_final)


def has_prefix(text: str, start: int) -> bool:
    """Whether a prefix of a key is at or after `start`."""
    return _prefixes().search(text, start) is not None


def _judge(key: KeyShape, text: str, start: int, *, is_final: bool) -> secret_values.SecretVerdict:
    run = _run(key.secret)
    look = max(key.at_least, _LOOK)
    end = run.pattern.match(text, start, start + look).end()  # type: ignore[union-attr]  # it may match nothing
    body = text[start:end]
    is_open = end == len(text) and end < start + look and not is_final
    if len(body) >= key.at_least and (not key.must_mix or secret_values.has_random_segment(body)):
        return secret_values.Secret.of(text, start, run, is_final=is_final)
    return secret_values.Undecided(start) if is_open else None


def _judge_token(text: str, start: int, *, is_final: bool) -> secret_values.SecretVerdict:
    """Judge a JSON Web Token: two parts or more, separated by dots."""
    end = _TOKEN_PART.match(text, start, start + _LONGEST_TOKEN_PART).end()  # type: ignore[union-attr]  # the same
    if end == len(text) and end < start + _LONGEST_TOKEN_PART and not is_final:
        return secret_values.Undecided(start)
    if end - start < 10 or not text.startswith(".", end):
        return None
    second = _TOKEN_PART.match(text, end + 1, end + 33).end()  # type: ignore[union-attr]  # the same
    if second - end < 12:
        return secret_values.Undecided(start) if second == len(text) and not is_final else None
    return secret_values.Secret.of(text, start, secret_values.PatternRun(_TOKEN_REST), is_final=is_final)


def _judge_discord(text: str, at: int, *, is_final: bool) -> secret_values.SecretVerdict:
    """Judge a Discord bot token: the bot's id in base 64, which stays readable, a time and a signature."""
    found = _discord_id().match(text, at)
    if found is None:
        return None
    start = found.end()
    body = _TOKEN_REST.match(text, start, start + 34)[0]  # type: ignore[index]  # the same
    if len(body) == 34 and body[6] == "." and "." not in body[:6] + body[7:] and secret_values.is_mixed(body):
        return secret_values.Secret.of(text, start, secret_values.PatternRun(_TOKEN_REST), is_final=is_final)
    return (
        secret_values.Undecided(start) if start + len(body) == len(text) and len(body) < 34 and not is_final else None
    )


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
    """A pattern for all prefixes, grouped by first letter, so that most letters are skipped at once."""
    groups = [
        f"{re.escape(first)}(?:{'|'.join(re.escape(key.prefix[1:]) for key in keys)})"
        for first, keys in sorted(_by_first().items())
        if keys
    ]
    return re.compile("|".join((*groups, "eyJ", r"[MNO](?=[A-Za-z0-9_-]{22,27}\.)")))
