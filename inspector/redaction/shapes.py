"""The shapes of keys that their prefix identifies: one line per shape, with the public rule set that it comes from.

`gitleaks` is `config/gitleaks.toml` of gitleaks/gitleaks, `betterleaks` are the rules in `cmd/generate/config/rules` of
betterleaks/betterleaks, `trufflehog` the detectors in `pkg/detectors` of trufflesecurity/trufflehog, `detect-secrets`
the plugins of Yelp/detect-secrets, each with the name of its rule. `github` names a provider of GitHub's list of
secret scanning patterns, which gives no shapes: the prefix is the provider's own, and no rule set was found that has
it. Where nothing else has such a prefix, less is demanded than the real length
and alphabet, so that a key that was cut or mistyped is redacted too.
"""

from dataclasses import dataclass

ALNUM = "A-Za-z0-9"
WORD = "A-Za-z0-9_-"
DOTTED = "A-Za-z0-9_.-"
CAPITALS = "A-Z0-9"
HEX = "A-Fa-f0-9"
HEX_WORD = "A-Fa-f0-9_-"
BASE64 = "A-Za-z0-9+/=_-"


@dataclass(frozen=True, slots=True)
class Key:
    """A key whose `prefix` begins a word; at least `at_least` characters of the set `secret` follow.

    The prefix stays readable and the whole run of `secret` characters after it is redacted. `is_free`: the prefix may
    follow a letter or digit. `must_mix`: within the first 64 characters there must be a segment with a digit and a
    letter, or with both cases, since words joined by dashes have the same shape.
    """

    name: str
    source: str
    prefix: str
    at_least: int = 20
    secret: str = WORD
    is_free: bool = False
    must_mix: bool = True


KEYS: tuple[Key, ...] = (
    # Model providers and routers.
    Key("Anthropic", "gitleaks anthropic-api-key", "sk-ant-"),
    Key("OpenAI project", "gitleaks openai-api-key", "sk-proj-"),
    Key("OpenAI service account", "gitleaks openai-api-key", "sk-svcacct-"),
    Key("OpenAI admin", "gitleaks openai-api-key", "sk-admin-"),
    Key("OpenRouter", "trufflehog openrouter", "sk-or-v1-"),
    Key("Langfuse", "trufflehog langfuse", "sk-lf-"),
    Key("Helicone", "github helicone", "sk-helicone-"),
    Key("OpenAI, DeepSeek, Moonshot and others of this shape", "trufflehog deepseek", "sk-", 18),
    Key("Hugging Face", "gitleaks huggingface-access-token", "hf_", 20, ALNUM),
    Key("Hugging Face organization", "gitleaks huggingface-organization-api-token", "api_org_", 20, ALNUM),
    Key("Groq", "trufflehog groq", "gsk_", 20, ALNUM),
    Key("xAI", "trufflehog xai", "xai-"),
    Key("Perplexity", "gitleaks perplexity-api-key", "pplx-", 20, ALNUM),
    Key("Replicate", "trufflehog replicate", "r8_"),
    Key("NVIDIA", "trufflehog nvapi", "nvapi-"),
    Key("Fireworks", "github fireworks", "fw_", 20, ALNUM),
    Key("Cerebras", "betterleaks cerebras-api-key", "csk-", 20, ALNUM),
    Key("Together", "betterleaks togetherai-api-key", "tgp_v1_"),
    Key("Anyscale", "github anyscale", "esecret_", 20, ALNUM),
    Key("Voyage", "github voyage", "pa-", 40),
    Key("Jina", "github jina", "jina_", 20, ALNUM),
    Key("Tavily", "github tavily", "tvly-"),
    Key("Firecrawl", "trufflehog firecrawl", "fc-", 32, HEX),
    Key("ElevenLabs", "trufflehog elevenlabs", "sk_", 40, HEX),
    Key("Pinecone", "betterleaks pinecone-api-key.2", "pcsk_"),
    Key("Vercel AI gateway", "betterleaks vercel-ai-gateway-key", "vck_"),
    Key("Vercel personal", "betterleaks vercel-personal-access-token", "vcp_"),
    Key("Vercel integration", "betterleaks vercel-integration-token", "vci_"),
    Key("Vercel app", "betterleaks vercel-app-access-token", "vca_"),
    Key("Vercel app refresh", "betterleaks vercel-app-refresh-token", "vcr_"),
    Key("Weights & Biases", "betterleaks weights-and-biases-api-key-v1", "wandb_v1_"),
    Key("Google API", "gitleaks gcp-api-key", "AIza", 33),
    Key("Google OAuth token", "detect-secrets gcp_key", "ya29.", 20, DOTTED),
    Key("Google OAuth client", "trufflehog gcpoauth2", "GOCSPX-"),
    # Clouds.
    Key("AWS access key", "gitleaks aws-access-token", "AKIA", 16, CAPITALS, must_mix=False),
    Key("AWS temporary key", "gitleaks aws-access-token", "ASIA", 16, CAPITALS, must_mix=False),
    Key("AWS bearer", "gitleaks aws-access-token", "ABIA", 16, CAPITALS, must_mix=False),
    Key("AWS context", "gitleaks aws-access-token", "ACCA", 16, CAPITALS, must_mix=False),
    Key("AWS Bedrock", "detect-secrets amazon_bedrock", "ABSK", 80, BASE64),
    Key("AWS Bedrock, short-lived", "detect-secrets amazon_bedrock", "bedrock-api-key-", 20, BASE64),
    Key("Alibaba", "gitleaks alibaba-access-key-id", "LTAI", 20, ALNUM),
    Key("Tencent", "github tencent", "AKID", 32, ALNUM),
    Key("DigitalOcean personal", "gitleaks digitalocean-pat", "dop_v1_", 20, ALNUM),
    Key("DigitalOcean OAuth", "gitleaks digitalocean-access-token", "doo_v1_", 20, ALNUM),
    Key("DigitalOcean refresh", "gitleaks digitalocean-refresh-token", "dor_v1_", 20, ALNUM),
    Key("Cloudflare origin CA", "gitleaks cloudflare-origin-ca-key", "v1.0-", 80, HEX_WORD),
    Key("Heroku", "gitleaks heroku-api-key-v2", "HRKU-AA"),
    Key("Fly", "gitleaks flyio-access-token", "fo1_", 40),
    Key("Fly macaroon a", "gitleaks flyio-access-token", "fm1a_", 20, BASE64),
    Key("Fly macaroon r", "gitleaks flyio-access-token", "fm1r_", 20, BASE64),
    Key("Fly macaroon 2", "gitleaks flyio-access-token", "fm2_", 20, BASE64),
    Key("Scalingo", "gitleaks scalingo-api-token", "tk-us-"),
    Key("Yandex", "gitleaks yandex-api-key", "AQVN", 35),
    Key("Netlify", "trufflehog netlify", "nfp_", 20, ALNUM),
    Key("Databricks", "gitleaks databricks-api-token", "dapi", 32, HEX, must_mix=False),
    Key("OpenShift", "gitleaks openshift-user-token", "sha256~", 40),
    # Code hosts.
    Key("GitHub personal", "gitleaks github-pat", "ghp_", 20, ALNUM),
    Key("GitHub OAuth", "gitleaks github-oauth", "gho_", 20, ALNUM),
    Key("GitHub user", "gitleaks github-app-token", "ghu_", 20, ALNUM),
    Key("GitHub server", "gitleaks github-app-token", "ghs_", 20, ALNUM),
    Key("GitHub refresh", "gitleaks github-refresh-token", "ghr_", 20, ALNUM),
    Key("GitHub fine-grained", "gitleaks github-fine-grained-pat", "github_pat_"),
    Key("GitLab personal", "gitleaks gitlab-pat", "glpat-", 20, DOTTED),
    Key("GitLab deploy", "gitleaks gitlab-deploy-token", "gldt-"),
    Key("GitLab job", "gitleaks gitlab-cicd-job-token", "glcbt-"),
    Key("GitLab feature flags", "gitleaks gitlab-feature-flag-client-token", "glffct-"),
    Key("GitLab feed", "gitleaks gitlab-feed-token", "glft-"),
    Key("GitLab mail", "gitleaks gitlab-incoming-mail-token", "glimt-"),
    Key("GitLab agent", "gitleaks gitlab-kubernetes-agent-token", "glagent-"),
    Key("GitLab application", "gitleaks gitlab-oauth-app-secret", "gloas-"),
    Key("GitLab pipeline", "gitleaks gitlab-ptt", "glptt-", 20, ALNUM),
    Key("GitLab runner", "gitleaks gitlab-runner-authentication-token", "glrt-", 20, DOTTED),
    Key("GitLab runner registration", "gitleaks gitlab-rrt", "GR1348941"),
    Key("GitLab SCIM", "gitleaks gitlab-scim-token", "glsoat-"),
    Key("Atlassian", "gitleaks atlassian-api-token", "ATATT3", 20, BASE64),
    Key("Bitbucket app password", "trufflehog bitbucketapppassword", "ATBB", 28, ALNUM),
    Key("Bitbucket repository", "github atlassian", "ATCTT3", 20, BASE64),
    Key("Sourcegraph", "gitleaks sourcegraph-access-token", "sgp_"),
    Key("CircleCI", "betterleaks circleci-personal-token", "CCIPAT_"),
    Key("Buildkite", "trufflehog buildkite", "bkua_", 20, ALNUM),
    Key("SonarQube project", "trufflehog sonarcloud", "sqp_", 20, ALNUM),
    Key("SonarQube user", "trufflehog sonarcloud", "squ_", 20, ALNUM),
    Key("SonarQube analysis", "trufflehog sonarcloud", "sqa_", 20, ALNUM),
    Key("Linear", "gitleaks linear-api-key", "lin_api_", 20, ALNUM),
    Key("Linear OAuth", "trufflehog linearapi", "lin_oauth_", 20, ALNUM),
    Key("Postman", "gitleaks postman-api-token", "PMAK-"),
    # Package registries.
    Key("npm", "gitleaks npm-access-token", "npm_", 20, ALNUM),
    Key("PyPI", "gitleaks pypi-upload-token", "pypi-", 30),
    Key("RubyGems", "gitleaks rubygems-api-token", "rubygems_", 20, ALNUM),
    Key("Clojars", "gitleaks clojars-api-token", "CLOJARS_", 20, ALNUM),
    Key("crates.io", "betterleaks crates-io-api-key", "cio", 32, ALNUM),
    Key("NuGet", "trufflehog nugetapikey", "oy2", 43, ALNUM),
    Key("Artifactory", "gitleaks artifactory-api-key", "AKCp", 60, ALNUM),
    Key("Artifactory reference", "gitleaks artifactory-reference-token", "cmVmd", 55, ALNUM),
    Key("Docker personal", "trufflehog dockerhub", "dckr_pat_"),
    Key("Docker organization", "trufflehog dockerhub", "dckr_oat_"),
    # Chat.
    Key("Slack bot", "gitleaks slack-bot-token", "xoxb-", must_mix=False),
    Key("Slack user", "gitleaks slack-user-token", "xoxp-", must_mix=False),
    Key("Slack workspace", "gitleaks slack-legacy-workspace-token", "xoxa-", 15, must_mix=False),
    Key("Slack refresh", "gitleaks slack-legacy-workspace-token", "xoxr-", 15, must_mix=False),
    Key("Slack session", "gitleaks slack-legacy-token", "xoxs-", must_mix=False),
    Key("Slack legacy", "gitleaks slack-legacy-token", "xoxo-", must_mix=False),
    Key("Slack cookie", "trufflehog slack", "xoxd-", must_mix=False),
    Key("Slack configuration", "gitleaks slack-config-access-token", "xoxe.xox", must_mix=False),
    Key("Slack configuration refresh", "gitleaks slack-config-refresh-token", "xoxe-", must_mix=False),
    Key("Slack app", "gitleaks slack-app-token", "xapp-", must_mix=False),
    Key("Twilio", "gitleaks twilio-api-key", "SK", 32, HEX, must_mix=False),
    # Observability and operations.
    Key("New Relic user", "gitleaks new-relic-user-api-key", "NRAK-", 20, ALNUM),
    Key("New Relic insert", "gitleaks new-relic-insert-key", "NRII-"),
    Key("Sentry organization", "gitleaks sentry-org-token", "sntrys_", 20, BASE64),
    Key("Sentry user", "gitleaks sentry-user-token", "sntryu_", 20, ALNUM),
    Key("Grafana service account", "gitleaks grafana-service-account-token", "glsa_"),
    Key("Grafana cloud", "gitleaks grafana-cloud-api-token", "glc_", 20, BASE64),
    Key("Grafana API", "gitleaks grafana-api-key", "eyJrIjoi", 60, BASE64),
    Key("LangSmith personal", "trufflehog langsmith", "lsv2_pt_"),
    Key("LangSmith service", "trufflehog langsmith", "lsv2_sk_"),
    Key("PostHog personal", "trufflehog posthog", "phx_", 20, ALNUM),
    Key("Dynatrace", "gitleaks dynatrace-api-token", "dt0c01.", 20, DOTTED),
    Key("Honeycomb", "github honeycomb", "hcaik_", 20, ALNUM),
    Key("Logfire", "github logfire", "pylf_v1_"),
    Key("Prefect", "gitleaks prefect-api-token", "pnu_", 20, ALNUM),
    Key("Pulumi", "gitleaks pulumi-api-token", "pul-", 36, HEX),
    Key("Terraform", "gitleaks hashicorp-tf-api-token", ".atlasv1.", 50, WORD, is_free=True),
    Key("Vault service", "gitleaks vault-service-token", "hvs.", 20, DOTTED),
    Key("Vault batch", "gitleaks vault-batch-token", "hvb.", 20, DOTTED),
    Key("Doppler", "gitleaks doppler-api-token", "dp.pt.", 20, ALNUM),
    Key("Doppler service", "trufflehog doppler", "dp.st.", 20, DOTTED),
    Key("Infracost", "gitleaks infracost-api-token", "ico-", 30, ALNUM),
    Key("1Password service account", "gitleaks 1password-service-account-token", "ops_eyJ", 20, BASE64),
    Key("1Password secret", "gitleaks 1password-secret-key", "A3-", 30, "A-Z0-9-"),
    Key("age", "gitleaks age-secret-key", "AGE-SECRET-KEY-1", 30, CAPITALS),
    Key("Harness personal", "gitleaks harness-api-key", "pat.", 60, DOTTED),
    Key("Harness service", "gitleaks harness-api-key", "sat.", 60, DOTTED),
    Key("Octopus", "gitleaks octopus-deploy-api-key", "API-", 26, CAPITALS),
    Key("Tailscale", "trufflehog tailscale", "tskey-"),
    # Databases.
    Key("PlanetScale token", "gitleaks planetscale-api-token", "pscale_tkn_", 20, DOTTED),
    Key("PlanetScale OAuth", "gitleaks planetscale-oauth-token", "pscale_oauth_", 20, DOTTED),
    Key("PlanetScale password", "gitleaks planetscale-password", "pscale_pw_", 20, DOTTED),
    Key("ClickHouse", "gitleaks clickhouse-cloud-api-secret-key", "4b1d", 38, ALNUM),
    Key("Supabase", "betterleaks supabase-management-token", "sbp_"),
    Key("Supabase secret", "betterleaks supabase-project-api-key", "sb_secret_"),
    Key("Aiven", "detect-secrets aiven_token", "AVNS_", 16),
    Key("Neon", "betterleaks neon-api-key", "napi_", 20, ALNUM),
    # Payment and shops.
    Key("Stripe secret", "gitleaks stripe-access-token", "sk_live_", 16, ALNUM),
    Key("Stripe test", "gitleaks stripe-access-token", "sk_test_", 16, ALNUM),
    Key("Stripe production", "gitleaks stripe-access-token", "sk_prod_", 16, ALNUM),
    Key("Stripe restricted", "gitleaks stripe-access-token", "rk_live_", 16, ALNUM),
    Key("Stripe restricted test", "gitleaks stripe-access-token", "rk_test_", 16, ALNUM),
    Key("Stripe restricted production", "gitleaks stripe-access-token", "rk_prod_", 16, ALNUM),
    Key("Stripe webhook", "trufflehog stripe", "whsec_", 20, BASE64),
    Key("Square token", "gitleaks square-access-token", "sq0atp-"),
    Key("Square secret", "detect-secrets square_oauth", "sq0csp-"),
    Key("Square access token", "gitleaks square-access-token", "EAAA", 50),
    Key("Facebook page", "gitleaks facebook-page-access-token", "EAAC", 90, ALNUM),
    Key("Facebook marketing", "gitleaks facebook-page-access-token", "EAAM", 90, ALNUM),
    Key("Shopify", "gitleaks shopify-access-token", "shpat_", 20, ALNUM),
    Key("Shopify custom", "gitleaks shopify-custom-access-token", "shpca_", 20, ALNUM),
    Key("Shopify private", "gitleaks shopify-private-app-access-token", "shppa_", 20, ALNUM),
    Key("Shopify shared", "gitleaks shopify-shared-secret", "shpss_", 20, ALNUM),
    Key("Flutterwave", "gitleaks flutterwave-secret-key", "FLWSECK_TEST-", 12),
    Key("Flutterwave live", "trufflehog flutterwave", "FLWSECK-"),
    Key("Plaid sandbox", "gitleaks plaid-api-token", "access-sandbox-"),
    Key("Plaid production", "gitleaks plaid-api-token", "access-production-"),
    Key("Shippo live", "gitleaks shippo-api-token", "shippo_live_", 20, ALNUM),
    Key("Shippo test", "gitleaks shippo-api-token", "shippo_test_", 20, ALNUM),
    Key("EasyPost", "gitleaks easypost-api-token", "EZAK", 50, ALNUM),
    Key("EasyPost test", "gitleaks easypost-test-api-token", "EZTK", 50, ALNUM),
    Key("Duffel live", "gitleaks duffel-api-token", "duffel_live_"),
    Key("Duffel test", "gitleaks duffel-api-token", "duffel_test_"),
    # Mail and other services.
    Key("SendGrid", "gitleaks sendgrid-api-token", "SG.", 20, DOTTED),
    Key("Brevo", "gitleaks sendinblue-api-token", "xkeysib-"),
    Key("Mailgun", "gitleaks mailgun-private-api-token", "key-", 32, HEX),
    Key("Notion", "gitleaks notion-api-token", "ntn_", 20, ALNUM),
    Key("Notion, old", "trufflehog notion", "secret_", 20, ALNUM),
    Key("Figma", "trufflehog figmapersonalaccesstoken", "figd_"),
    Key("Typeform", "gitleaks typeform-api-token", "tfp_", 20, DOTTED),
    Key("ReadMe", "gitleaks readme-api-token", "rdme_", 20, ALNUM),
    Key("Frame.io", "gitleaks frameio-api-token", "fio-u-"),
    Key("Adobe", "gitleaks adobe-client-secret", "p8e-", 30, ALNUM),
    Key("Contentful", "trufflehog contentfulpersonalacesstoken", "CFPAT-"),
    Key("Mapbox", "trufflehog mapbox", "sk.eyJ", 60, DOTTED),
    Key("Dropbox", "gitleaks dropbox-short-lived-api-token", "sl.", 100, WORD),
    Key("SettleMint application", "gitleaks settlemint-application-access-token", "sm_aat_", 16, ALNUM),
    Key("SettleMint personal", "gitleaks settlemint-personal-access-token", "sm_pat_", 16, ALNUM),
    Key("SettleMint service", "gitleaks settlemint-service-access-token", "sm_sat_", 16, ALNUM),
)

SHORTEST_KEY = min(len(key.prefix) + key.at_least for key in KEYS)
"""No key is shorter: a run of key characters below it needs no look."""

SECRET_HEADERS = frozenset(
    {
        *("authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key", "x-goog-api-key"),
        *("x-weaklink-token", "helicone-auth", "x-portkey-api-key", "x-auth-token", "x-amz-security-token"),
        *("ocp-apim-subscription-key", "x-csrf-token", "x-xsrf-token", "x-litellm-api-key", "x-access-token"),
    }
)
"""Headers, in lower case, whose whole value is secret, but for the word before it (`Bearer`)."""
