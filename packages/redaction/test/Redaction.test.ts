import { assert, describe, it } from "@effect/vitest"
import { Redaction, secretsOf } from "../src/Redaction.ts"

/** Made up, in the forms of real ones. */
const keys: ReadonlyArray<string> = [
  "sk-proj-A1b2C3d4E5f6G7h8I9j0",
  "sk-ant-api03-AbCdEf-123456_789012",
  "sk_live_0123456789abcdefABCD",
  `ghp_${"a1B2".repeat(9)}`,
  `github_pat_${"a1B2_".repeat(8)}`,
  `glpat-${"a1-B".repeat(5)}`,
  "xoxb-0123456789-abcdefABCDEF",
  "AKIAABCDEFGHIJ012345",
  `AIza${"a1B2-".repeat(7)}`,
  `npm_${"a1B2".repeat(9)}`,
  `hf_${"a1B2".repeat(9)}`,
  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0xyz.c2lnbmF0dXJlMTIz",
  "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKC\nAQEA+/==\n-----END RSA PRIVATE KEY-----",
  "-----BEGIN PRIVATE KEY-----\\nMIIEowIBAAKC\\n-----END PRIVATE KEY-----"
]

describe("Redaction", () => {
  const redaction = new Redaction()

  for (const key of keys) {
    it(`finds ${key.slice(0, 12)}… wherever it stands`, () => {
      for (const [before, after] of [
        ["", ""],
        ["key: ", " and more"],
        ['{"key":"', '"}'],
        ["KEY=", "\n"],
        ["(", ")"]
      ]) {
        assert.strictEqual(redaction.text(`${before}${key}${after}`), `${before}[redacted]${after}`)
      }
    })
  }

  it("leaves the scheme of a bearer token", () => {
    assert.strictEqual(
      redaction.text("curl -H 'Authorization: Bearer abc.DEF-0123456789=='"),
      "curl -H 'Authorization: Bearer [redacted]'"
    )
  })

  it("leaves what only looks like one", () => {
    for (const text of [
      "task-force-1234567890-abcdefgh",
      ".sk-fading-circle-container { color: red }",
      "a bearer authentication-without-digits",
      "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
      "AKIA is how they begin",
      "commit 1f0c1e0e9d2f4b3a8c7d6e5f4a3b2c1d0e9f8a7b",
      "eyJust a word"
    ]) {
      assert.strictEqual(redaction.text(text), text)
    }
  })

  it("finds registered values of at least eight characters", () => {
    const redactor = new Redaction(["correct horse battery", "(a+b)*[c]$", "short", "battery!"])
    assert.strictEqual(redactor.text("the correct horse battery! short"), "the [redacted] short")
    assert.strictEqual(redactor.text("x(a+b)*[c]$y"), "x[redacted]y")
    assert.strictEqual(
      new Redaction(["horsebattery"]).text("Bearer correcthorsebatterystaple"),
      "Bearer correct[redacted]staple"
    )
  })

  it("finds a secret at any position of a long text, of ASCII or not", () => {
    const key = `ghp_${"a1B2c3D4e5F6".repeat(3)}`
    for (const space of [" ", "字"])
      for (let position = 65_500; position < 65_560; position++) {
        const text = `${space.repeat(position)}${key}${" ".repeat(70_000)}${key}.`
        assert.strictEqual(
          new Redaction().text(text),
          `${space.repeat(position)}[redacted]${" ".repeat(70_000)}[redacted].`
        )
      }
  })

  it("looks into every text of a value and every name, and gives the very same where there is nothing", () => {
    const [key = ""] = keys
    assert.deepStrictEqual(redaction.value({ a: [1, { [key]: `x ${key}` }], b: null, c: true }), {
      a: [1, { "[redacted]": "x [redacted]" }],
      b: null,
      c: true
    })
    const clean = { a: [1, { b: "text" }] }
    assert.strictEqual(redaction.value(clean), clean)
  })

  it("takes out what is left of a secret where a text was cut inside it", () => {
    const redactor = new Redaction(["correct-horse-battery"])
    for (const [cut, left] of [
      ["Run deploy correct-hor…", "Run deploy [redacted]…"],
      ["Run deploy correct-horse-batter…", "Run deploy [redacted]…"],
      ["Run curl -H k:sk-proj-A1b…", "Run curl -H k:[redacted]…"],
      ["Run curl -H 'Bearer abcdef012…", "Run curl -H 'Bearer [redacted]…"],
      ["Run deploy co…", "Run deploy co…"],
      ["Say correct words…", "Say correct words…"],
      ["Run deploy correct-hor", "Run deploy correct-hor"]
    ]) {
      assert.strictEqual(redactor.text(cut ?? ""), left)
    }
  })
})

describe("secretsOf", () => {
  it("are values whose names say so, and passwords in addresses", () => {
    const environment = {
      SERVICE_API_KEY: "key-value",
      GH_TOKEN: "token-value",
      MODEL: "model-value",
      GIT_AUTHOR_NAME: "author-value",
      HTTPS_PROXY: "http://me:proxy-password@proxy.test:8080",
      BASE_URL: "https://api.test/v1"
    }
    assert.deepStrictEqual(secretsOf(environment), ["key-value", "token-value", "proxy-password"])
  })
})

describe("Redaction of named secrets", () => {
  const redaction = new Redaction()
  const shows = (text: string, shown: string): void => assert.strictEqual(redaction.text(text), shown)

  it("removes the value and keeps its name", () => {
    shows("PASSWORD=hunter2", "PASSWORD=[redacted]")
    shows("export DB_PASSWORD='hunter2!x' && run", "export DB_PASSWORD='[redacted]' && run")
    shows('{"app_secret":"Zx9dkeLq"}', '{"app_secret":"[redacted]"}')
    shows(String.raw`"{\"client_secret\":\"Zx9dkeLq\"}"`, String.raw`"{\"client_secret\":\"[redacted]\"}"`)
    shows("psql postgres://app:pw4app@db.test/app", "psql postgres://app:[redacted]@db.test/app")
    shows(
      "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzzzz",
      "aws_secret_access_key = [redacted]"
    )
    shows("db:\n  password: s3cr3t-word\n", "db:\n  password: [redacted]\n")
    shows("mysql --password hunter2x -u root", "mysql --password [redacted] -u root")
    shows("curl -s -u ana:pa55word https://x.test", "curl -s -u ana:[redacted] https://x.test")
    shows("machine x.test login ana password pa55word", "machine x.test login ana password [redacted]")
    shows("Authorization: Basic YW5hOnBhNTV3b3Jk", "Authorization: Basic [redacted]")
    shows("docker login -u ana -p pa55word npm.example", "docker login -u ana -p [redacted] npm.example")
    shows("mysqldump -u root -ppa55word db", "mysqldump -u root -p[redacted] db")
    shows("redis-cli -h db.test -a pa55word ping", "redis-cli -h db.test -a [redacted] ping")
    shows("ENV API_TOKEN pa55word\n", "ENV API_TOKEN [redacted]\n")
    shows("set -gx GITHUB_TOKEN pa55word", "set -gx GITHUB_TOKEN [redacted]")
    shows("<password>pa55word</password>", "<password>[redacted]</password>")
    shows("client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFU\n", "client-key-data: [redacted]\n")
    shows("https://0a1b2c3d4e5f6a7b8c9d@example.test/x.git", "https://[redacted]@example.test/x.git")
    shows("Private-Lines: 1\nAAAAIBb3BlbnNzaC1r\nPrivate-MAC: x", "Private-Lines: 1[redacted]-MAC: x")
    shows("Cookie: session=0123456789abcdef", "Cookie: [redacted]")
  })

  it("keeps text that only names a secret", () => {
    for (const text of [
      "sk-toggleable__content-12345",
      "MAX_TOKENS=4096",
      "PASSWORD_FILE=/run/secrets/db",
      "PASSWORD=$DB_PASSWORD npm test",
      "PASSWORD=${DB_PASSWORD} npm test",
      "const token = parseToken(input)",
      "token: Token | undefined",
      '"password": "string"',
      "The password: see the vault.",
      "PWD=/home/ana/project",
      "http://localhost:3000/login",
      "api-version: 2024-01-01",
      "key: value",
      "<password>string</password>",
      "<Token>{value}</Token>",
      "env NODE_ENV production",
      "ssh-login host -p 2222",
      "mysql; mkdir -p data",
      "redis-cli ping && ls -a folder",
      "https://example.test/users/@ana",
      "git@github.com:corral/corral.git",
      "a precious thing, and the store_key-value pair",
      "basic authentication is off"
    ]) {
      assert.strictEqual(redaction.text(text), text)
    }
  })

  it("reads the name of a field", () => {
    const value = {
      password: "hunter2x",
      name: "ana",
      inputTokens: "1234567",
      nested: { appSecret: "Zx9dkeLq" }
    }
    assert.deepStrictEqual(redaction.value(value), {
      ...value,
      password: "[redacted]",
      nested: { appSecret: "[redacted]" }
    })
  })

  it("finds each of several private keys in streamed text that is split at any character", () => {
    const key = (kind: string, body: string) => `-----BEGIN ${kind}-----\n${body}\n-----END ${kind}-----\n`
    const text =
      key("CERTIFICATE", "public") +
      key("PRIVATE KEY", "MIIEfirst") +
      "word ".repeat(60) +
      key("EC PRIVATE KEY", "MIIEother")
    for (let cut = 1; cut < text.length; cut++) {
      const { context, rest, shown } = redaction.piece("", text.slice(0, cut))
      const next = redaction.piece(context, rest + text.slice(cut))
      const all = shown + next.shown + redaction.after(next.context, next.rest)
      assert.notMatch(all, /MIIE|first|other/, `split at ${cut}`)
      assert.include(all, "public")
    }
  })

  it("finds a private key with line numbers, in a patch, and one of PGP", () => {
    for (const text of [
      "  1\t-----BEGIN EC PRIVATE KEY-----\n  2\tMHcCAQEE\n  3\t-----END EC PRIVATE KEY-----",
      "  1→-----BEGIN PRIVATE KEY-----\n  2→MHcCAQEE\n  3→-----END PRIVATE KEY-----",
      "+-----BEGIN PRIVATE KEY-----\n+MHcCAQEE\n+-----END PRIVATE KEY-----",
      "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2.4\n\nMHcCAQEE\n-----END PGP PRIVATE KEY BLOCK-----"
    ]) {
      assert.notInclude(redaction.text(text), "MHcCAQEE")
      assert.notInclude(redaction.text(text), "END")
    }
  })
})
