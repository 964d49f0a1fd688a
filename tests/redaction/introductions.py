"""The grammar of introductions, for tests: every container in which a name introduces a value, with a sample of each.

A template has `{n}` where the name is written and `{v}` where the secret is. `style` is how names are written there,
`values` which values the container can hold.
"""

from collections.abc import Iterator

from tests.redaction.planted import Planted

WORDS = {
    "snake": ("password", "db_password", "client_secret", "api_key", "access_token", "passphrase"),
    "camel": ("dbPassword", "clientSecret", "apiKey", "accessToken", "userPassword"),
    "shout": ("DB_PASSWORD", "CLIENT_SECRET", "OPENAI_API_KEY", "GITHUB_TOKEN", "PGPASSWORD", "SMTP_PASS"),
    "kebab": ("password", "client-secret", "api-key", "access-token", "db-password"),
    "label": ("Password", "API key", "Access token", "Client secret", "passphrase"),
    "foreign": (
        *(
            "contraseña",
            "mot de passe",
            "Passwort",
            "Kennwort",
            "senha",
            "пароль",
            "密码",
            "密碼",
            "口令",
            "パスワード",
        ),
        *("パスワード", "비밀번호", "암호", "كلمة المرور", "كلمة السر", "पासवर्ड", "পাসওয়ার্ড", "şifre", "parola", "hasło"),
        *(
            "wachtwoord",
            "mật khẩu",
            "kata sandi",
            "رمز عبور",
            "รหัสผ่าน",
            "lösenord",
            "heslo",
            "jelszó",
            "סיסמה",
            "κωδικός",
        ),
    ),
}
"""Names of each style; all of them introduce a secret."""

BARE, QUOTED, RANDOM = "Tr0ub4dor&3xtra", "correct#Horse battery", "xK29fjQ0aL7pZr3V"
"""A password as people choose it, one with blanks for containers with quotes, and one as programs make it."""

CONTAINERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "JSON": ('{{"user": "joe", "{n}": "{v}", "n": 1}}', "snake camel shout", (BARE, QUOTED, RANDOM)),
    "JSON, packed": ('{{"user":"joe","{n}":"{v}","n":1}}', "snake camel", (BARE, RANDOM)),
    "JSON list": ('{{"{n}s": ["{v}", "{v}"]}}', "snake camel", (RANDOM,)),
    "JSON pair": ('{{"name": "{n}", "value": "{v}"}}', "snake shout", (BARE, RANDOM)),
    "JSON pair, other words": ('{{"Key": "{n}", "Type": "secure", "Value": "{v}"}}', "snake shout", (BARE, RANDOM)),
    "JSON pair, value first": ('{{"value": "{v}", "name": "{n}"}}', "snake shout", (BARE, RANDOM)),
    "schema, default": ('{{"{n}": {{"type": "string", "default": "{v}"}}}}', "snake camel", (BARE, RANDOM)),
    "schema, const": ('{{"{n}": {{"const": "{v}", "type": "string"}}}}', "snake", (BARE, RANDOM)),
    "schema, examples": ('{{"{n}": {{"type": "string", "examples": ["{v}"]}}}}', "snake", (BARE, RANDOM)),
    "state": ('"outputs": {{"{n}": {{"value": "{v}", "sensitive": true}}}}', "snake", (BARE, RANDOM)),
    "YAML": ("user: joe\n{n}: {v}\nport: 1", "snake camel kebab", (BARE, RANDOM)),
    "YAML, quoted": ("{n}: '{v}'\nport: 1", "snake camel kebab", (BARE, QUOTED, RANDOM)),
    "YAML, folded": ("{n}: >-\n  {v}\nport: 1", "snake camel", (BARE, RANDOM)),
    "YAML, literal": ("db:\n  {n}: |\n    {v}\n  port: 1", "snake camel", (BARE, RANDOM)),
    "YAML, anchor": ("{n}: &secret {v}\nport: 1", "snake", (BARE, RANDOM)),
    "YAML, tag": ('{n}: !!str "{v}"\nport: 1', "snake", (BARE, RANDOM)),
    "YAML, list": ("{n}s:\n  - {v}\n  - {v}\nport: 1", "snake", (RANDOM,)),
    "Kubernetes": ("env:\n- name: {n}\n  value: {v}\n- name: A\n  value: b", "shout snake", (BARE, RANDOM)),
    "Kubernetes, quoted": ('env:\n  - name: "{n}"\n    value: "{v}"\n', "shout", (BARE, RANDOM)),
    "Kubernetes, value first": ("env:\n- value: {v}\n  name: {n}\n", "shout", (BARE, RANDOM)),
    "Compose": ("environment:\n  - {n}={v}\n  - A=b", "shout", (BARE, RANDOM)),
    "TOML": ('[db]\n{n} = "{v}"\nport = 1', "snake camel kebab", (BARE, QUOTED, RANDOM)),
    "TOML, literal": ("{n} = '''{v}'''\nport = 1", "snake", (BARE, RANDOM)),
    "ini": ("[db]\n{n} = {v}\nport = 1", "snake kebab", (BARE, RANDOM)),
    "properties": ("db.{n}={v}\ndb.port=1", "snake kebab", (BARE, RANDOM)),
    "env": ("{n}={v}\nPORT=1", "shout", (BARE, RANDOM)),
    "env, quoted": ('export {n}="{v}"\nPORT=1', "shout", (BARE, QUOTED, RANDOM)),
    "PowerShell": ('$env:{n} = "{v}"\n', "shout", (BARE, RANDOM)),
    "cmd": ("setx {n} {v}\n", "shout", (RANDOM, BARE)),
    "fish": ("set -gx {n} {v}\n", "shout", (RANDOM, BARE)),
    "Dockerfile": ("FROM x\nENV {n} {v}\nRUN y", "shout", (RANDOM, BARE)),
    "XML element": ("<db><{n}>{v}</{n}></db>", "snake camel", ("Tr0ub4dor3xtra", RANDOM)),
    "XML CDATA": ("<{n}><![CDATA[{v}]]></{n}>", "snake camel", (BARE, RANDOM)),
    "XML attribute": ('<db user="joe" {n}="{v}"/>', "snake camel", ("Tr0ub4dor3xtra", RANDOM)),
    ".NET": ('<add key="{n}" value="{v}" />', "camel shout", ("Tr0ub4dor3xtra", RANDOM)),
    "property": ('<property name="{n}" value="{v}"/>', "snake camel", ("Tr0ub4dor3xtra", RANDOM)),
    "property element": ('<property name="{n}">{v}</property>', "snake camel", ("Tr0ub4dor3xtra", RANDOM)),
    "plist": ("<key>{n}</key>\n<string>{v}</string>", "snake camel", ("Tr0ub4dor3xtra", RANDOM)),
    "HTML form": ('<input type="text" name="{n}" value="{v}">', "snake camel", ("Tr0ub4dor3xtra", RANDOM)),
    "HTML cells": ("<tr><td>{n}</td><td>{v}</td></tr>", "snake label", ("Tr0ub4dor3xtra", RANDOM)),
    "HTML label": ("<p><b>{n}:</b> {v}</p>", "label", ("Tr0ub4dor3xtra", RANDOM)),
    "form data": ('Content-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n--b', "snake", (BARE, RANDOM)),
    "form": ("user=joe&{n}={v}&x=1", "snake camel", ("Tr0ub4dor3xtra", RANDOM)),
    "SQL": ("ALTER ROLE joe WITH {n} '{v}' LOGIN;", "sql", (BARE, QUOTED, RANDOM)),
    "SQL, equal": ("CREATE LOGIN joe WITH {n} = N'{v}';", "sql", (BARE, QUOTED, RANDOM)),
    "SQL, function": ("SET PASSWORD FOR joe = {n}('{v}');", "sql", (BARE, RANDOM)),
    "shell option": ("deploy --user joe --{n} {v} --wait", "kebab", (BARE, RANDOM)),
    "shell option, equal": ("deploy --{n}={v} --wait", "kebab", (BARE, RANDOM)),
    "shell option, quoted": ("deploy --{n} '{v}' --wait", "kebab", (BARE, QUOTED, RANDOM)),
    "shell option, list": ('["deploy", "--{n}", "{v}", "--wait"]', "kebab", (BARE, QUOTED, RANDOM)),
    "shell, literal": ("kubectl create secret generic x --from-literal={n}={v}", "kebab snake", (BARE, RANDOM)),
    "shell, setting": ("docker run -e {n}={v} -p 80:80 image", "shout", (BARE, RANDOM)),
    "shell, set": ("aws configure set aws_{n} {v}\n", "setting", (RANDOM,)),
    "shell, before a command": ("{n}='{v}' psql -h db", "shout", (BARE, QUOTED, RANDOM)),
    "system property": ("java -Ddb.{n}={v} -jar a.jar", "kebab camel", (BARE, RANDOM)),
    "Windows option": ("setup.exe /{n}:{v} /quiet", "snake", ("Tr0ub4dor3xtra", RANDOM)),
    "query": ("https://a.example/b?x=1&{n}={v}&y=2", "snake camel", ("Tr0ub4dor3xtra", RANDOM)),
    "fragment": ("https://a.example/b#{n}={v}&y=2", "query", (RANDOM,)),
    "query, escaped": ("https%3A%2F%2Fa.example%2Fb%3F{n}%3D{v}%26y%3D2", "snake camel", ("Tr0ub4dor3xtra", RANDOM)),
    "connection string": ("Server=db;User Id=joe;{n}={v};Encrypt=true", "odbc", ("Tr0ub4dor3xtra", RANDOM)),
    "ODBC braces": ("Driver={{PG}};UID=joe;{n}={{{v}}};", "odbc", ("Tr0;b4dor=3", RANDOM)),
    "header": ("X-{n}: {v}\r\nHost: a", "header", (RANDOM,)),
    "header in a command": ("curl -H 'X-{n}: {v}' https://a.example", "header", (RANDOM,)),
    "header, own scheme": ("Authorization: SSWS {v}\r\nHost: a{n}", "none", (RANDOM,)),
    "Python": ('{n} = "{v}"\nuser = 1', "snake shout", (BARE, QUOTED, RANDOM)),
    "Python, typed": ('{n}: SecretStr = SecretStr("{v}")\n', "snake", (BARE, QUOTED, RANDOM)),
    "Python, keyword": ("connect(user='joe', {n}='{v}', port=1)", "snake", (BARE, QUOTED, RANDOM)),
    "Python, default": ('os.environ.get("{n}", "{v}")', "shout", (BARE, RANDOM)),
    "Python, subscript": ("os.environ['{n}'] = '{v}'\n", "shout", (BARE, QUOTED, RANDOM)),
    "Go": ('os.Setenv("{n}", "{v}")', "shout", (BARE, QUOTED, RANDOM)),
    "Go, short": ('{n} := "{v}"', "camel", (BARE, QUOTED, RANDOM)),
    "Go, bytes": ('{n} := []byte("{v}")', "camel", (BARE, RANDOM)),
    "Java": ('props.put("db.{n}", "{v}");', "snake camel", (BARE, QUOTED, RANDOM)),
    "Java, string": ('private static final String {n} = "{v}";', "shout camel", (BARE, QUOTED, RANDOM)),
    "Java, setter": ('ds.set{n}("{v}");', "setter", (BARE, QUOTED, RANDOM)),
    "PHP": ("define('{n}', '{v}');", "shout", (BARE, QUOTED, RANDOM)),
    "PHP, array": ("'{n}' => '{v}',\n'a' => 1", "snake", (BARE, QUOTED, RANDOM)),
    "Ruby": (':{n} => "{v}", a: 1', "snake", (BARE, QUOTED, RANDOM)),
    "JavaScript": ("const {n} = `{v}`;", "camel", (BARE, QUOTED, RANDOM)),
    "JavaScript, member": ("{{ user: 'joe', {n}: '{v}' }}", "camel", (BARE, QUOTED, RANDOM)),
    "C#": ('new NetworkCredential {{ {n} = "{v}" }}', "setter", (BARE, QUOTED, RANDOM)),
    "comparison": ('if ({n} == "{v}") {{', "snake camel", (BARE, RANDOM)),
    "Rust": ('let {n}: &str = "{v}";', "snake", (BARE, QUOTED, RANDOM)),
    "Terraform": ('variable "{n}" {{\n  type    = string\n  default = "{v}"\n}}', "snake", (BARE, QUOTED, RANDOM)),
    "netrc": ("machine a.example login joe {n} {v}\n", "netrc", (BARE, RANDOM)),
    "prose": ("The {n} is {v}, use it.", "label", (RANDOM, "hunter2x9")),
    "prose, for": ("The {n} for the staging box is {v}\n", "label", (RANDOM,)),
    "prose, quoted": ('Log in with {n} "{v}".', "label", (RANDOM,)),
    "prose, parentheses": ("Log in as joe ({n}: {v})", "label", ("Tr0ub4dor3xtra", RANDOM)),
    "label": ("User: joe\n{n}: {v}\n", "label", (BARE, RANDOM)),
    "label, bold": ("- **User:** joe\n- **{n}:** {v}\n", "label", (BARE, RANDOM)),
    "label, bold, colon outside": ("**{n}**: `{v}`\n", "label", (BARE, RANDOM)),
    "label, code": ("`{n}`: `{v}`\n", "label snake", (BARE, RANDOM)),
    "label, full-width colon": ("{n}：{v}\n", "foreign label", (BARE, RANDOM)),
    "label, foreign": ("{n}: {v}\n", "foreign", (BARE, RANDOM)),
    "label, dash": ("{n} - {v}\n", "label", (RANDOM,)),
    "table": ("| {n} | {v} |\n", "label snake", ("Tr0ub4dor3xtra", RANDOM)),
    "log": ("2026-11-28 12:00:00 DEBUG login user=joe {n}={v} ok", "snake", ("Tr0ub4dor3xtra", RANDOM)),
    "log, brackets": ("DEBUG [auth] {{user=joe, {n}={v}, x=1}}", "snake camel", ("Tr0ub4dor3xtra", RANDOM)),
    "repr": ("Config(user='joe', {n}='{v}', port=1)", "snake", (BARE, QUOTED, RANDOM)),
}

_STYLES = WORDS | {
    "sql": ("PASSWORD", "password"),
    "setting": ("secret_access_key", "session_token"),
    "query": ("access_token", "id_token", "refresh_token"),
    "odbc": ("Password", "PWD", "pwd"),
    "header": ("Vault-Token", "Auth-Token", "Api-Key", "Auth-Key", "Secret", "Gitlab-Token"),
    "setter": ("Password", "ClientSecret", "ApiKey"),
    "netrc": ("password",),
    "none": ("",),
}


def introduced() -> Iterator[Planted]:
    """Every name in every container with every value that it can hold."""
    for container, (template, styles, values) in CONTAINERS.items():
        for style in styles.split():
            for name in _STYLES[style]:
                for value in values:
                    yield _planted(container, template, name, value)


def one_of_each_container() -> Iterator[Planted]:
    """A name of each style with each value, in every container."""
    for container, (template, styles, values) in CONTAINERS.items():
        for number, style in enumerate(styles.split()):
            for value in values:
                yield _planted(container, template, _STYLES[style][number % len(_STYLES[style])], value)


def _planted(container: str, template: str, name: str, value: str) -> Planted:
    before, after = template.format(n=name, v="\0").split("\0", 1)
    return Planted(f"{name} in {container}", before, value, after.replace("\0", value))
