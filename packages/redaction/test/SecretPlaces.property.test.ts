/** Secrets where programs keep and receive them: generated, in the whole text, quoted in JSON, and in streamed pieces of any size. */
import { assert, describe, it } from "@effect/vitest"
import { effort } from "@corral/testing/time/Effort"
import * as fc from "fast-check"
import { Redaction } from "../src/Redaction.ts"

const redaction = new Redaction()

const mixed = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz23456789"
const random = (alphabet: string, length: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...alphabet), minLength: length, maxLength: length })

/** By the letter of a template, such as `¤k`. A digit, a capital and a small letter are certain. */
const secrets = {
  /** A password of a person. */
  p: random(mixed.toLowerCase(), 8).map((text) => `pw4${text}`),
  /** 43 characters of base64. */
  k: random(mixed, 40).map((text) => `${text}a1B`),
  /** A factor of an RSA key. */
  r: random(mixed, 680).map((text) => `${text}a1B`),
  h: random("0123456789abcdef", 30).map((text) => `a1${text}`),
  /** The id and the signature of a bot. */
  d: fc
    .tuple(fc.bigInt({ min: 10n ** 18n, max: 2n * 10n ** 18n - 1n }), random(mixed, 38))
    .map(([id, text]) => `${btoa(String(id)).replaceAll("=", "")}.GaBcDe.${text}`)
} as const

const templates: ReadonlyArray<string> = [
  // Files of programs
  "db.test:5432:app:ana:¤p",
  "*:6432:*:postgres:¤p\nother:1",
  "*:*:*:ana:¤p",
  '{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1B","d":"¤k"}',
  '{"kty":"RSA","n":"abc","e":"AQAB","d":"¤r","p":"¤r","q":"¤k","dp":"¤k","dq":"¤k","qi":"¤k"}',
  '{"kty":"oct","k": "¤k"}',
  "bindpw ¤p",
  "requirepass ¤p",
  "[smtp.test]:587 ana:¤p",
  "//npm.example/:_auth=¤k",
  "pass = ¤p",
  "db_pass: ¤p",
  'auth: { user: "ana", pass: "¤p" }',
  "ansible_become_pass: ¤p",
  "SMTP_PASS=¤p",
  "export DB_PASS='¤p'",
  "$env:DB_PASS = '¤p'",
  "Server=db.test;User Id=sa;Pwd=¤p;",
  "APP_KEY=base64:¤k=",
  "REDISCLI_AUTH=¤p redis-cli ping",
  "-----BEGIN OpenVPN Static key V1-----\n¤h\n¤h\n-----END OpenVPN Static key V1-----",
  "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nP2/¤k\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
  "untrusted comment: minisign encrypted secret key\nRWRTY0Iy¤k",
  // Services
  "use ¤d for it",
  "https://api.telegram.test/bot123456789:AAEhBO¤h/getMe",
  "access_token$production$abcd1234abcd1234$¤h",
  "fm2_lJPE¤k",
  "vcp_¤k",
  "pplx-¤k",
  "ntn_¤k",
  "dp.st.prd.¤k",
  "HRKU-AA¤k",
  // Statements
  "CREATE USER ana IDENTIFIED BY '¤p';",
  "ALTER ROLE ana WITH PASSWORD '¤p';",
  // Arguments of commands
  "vault login ¤k",
  "vault login -address=https://vault.test -no-store ¤k",
  "snyk auth ¤h",
  "ngrok config add-authtoken ¤k",
  "doctl auth init -t ¤h",
  "tailscale up --authkey ¤k",
  "aws configure set aws_secret_access_key ¤k",
  "npm config set //npm.example/:_authToken ¤k",
  "poetry config http-basic.shop ana ¤p",
  "poetry config pypi-token.pypi ¤k",
  "twine upload -u ana -p ¤p dist/x",
  "ldapsearch -x -D cn=admin -w ¤p -b dc=x",
  "sqlcmd -S db.test -U sa -P ¤p",
  "zip -r -P ¤p a.zip b",
  "7z a -p¤p a.7z b",
  "openssl rsa -in k.pem -passin pass:¤p",
  "mongosh -u ana -p ¤p",
  "http -a ana:¤p x.test",
  "smbclient //h/s -U ana%¤p",
  "ssh-keygen -t ed25519 -N ¤p -f k",
  "keytool -list -storepass ¤p",
  "mc alias set m https://m.test minio ¤p",
  "wget --http-password ¤p https://x.test",
  String.raw`net use \\h\s /user:ana ¤p`,
  'ConvertTo-SecureString "¤p" -AsPlainText -Force'
]
/** The reason is after the secret: known for a whole command, not for the first pieces of a stream. */
const wholeOnly: ReadonlyArray<string> = [
  "echo ¤p | docker login -u ana --password-stdin",
  "printf '%s' ¤p | gh auth login --with-token",
  "echo 'ana:¤p' | chpasswd"
]

/** Splits a text at the given sizes, over and over, and redacts it as a stream. */
const streamed = (text: string, sizes: ReadonlyArray<number>): string => {
  let [shown, context, rest] = ["", "", ""]
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    const piece = redaction.piece(context, rest + text.slice(at, at + size))
    at += size
    shown += piece.shown
    context = piece.context
    rest = piece.rest
  }
  return shown + redaction.after(context, rest)
}

type Kind = keyof typeof secrets
const sample = (template: string): fc.Arbitrary<{ text: string; values: ReadonlyArray<string> }> => {
  const parts = template.split("¤")
  const kinds = parts.slice(1).map((part) => part.charAt(0) as Kind) // templates name kinds of `secrets`
  return fc.tuple(...kinds.map((kind): fc.Arbitrary<string> => secrets[kind])).map((values) => ({
    text: parts.map((part, at) => (at === 0 ? part : `${values[at - 1]}${part.slice(1)}`)).join(""),
    values
  }))
}
const leaves = (shown: string, values: ReadonlyArray<string>): void => {
  for (const value of values) assert.notInclude(shown, value)
  assert.include(shown, "[redacted]")
}
/** Plain text before a secret, longer than the context of a piece. */
const before = fc.nat(300).map((length) => `${"so, it ".repeat(50).slice(0, length)}\n`)
const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 6 })

describe("Redaction of a secret in its place", () => {
  it.each([...templates, ...wholeOnly])("%s", (template) => {
    const around = fc.constantFrom(["", ""], ["$ ", "\n"], ["line\n", "\nline\n"], ["(", " "])
    fc.assert(
      fc.property(sample(template), around, ({ text, values }, [before = "", after = ""]) => {
        leaves(redaction.text(before + text + after), values)
        leaves(JSON.stringify(redaction.value({ command: text })), values)
      }),
      { numRuns: 20 * effort }
    )
  })

  it.each(templates)("%s, in pieces", (template) => {
    fc.assert(
      fc.property(sample(template), sizes, before, ({ text, values }, pieces, words) => {
        const shown = streamed(words + text, pieces)
        for (const value of values) assert.notInclude(shown, value.slice(-11))
      }),
      { numRuns: 10 * effort }
    )
  })
})

describe("Redaction of a secret after streamed text of any length", () => {
  const key = "P2/AAAAAAAAAAAAAAAAAAAAAAAAa1B"
  it.each([
    ["Server=db.test;User Id=sa;Pwd=pw4aaaaaaaa;", "pw4aaaaaaaa"],
    [`---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n${key}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----`, key]
  ])("%s", (text, secret) => {
    for (const size of [1, 2, 3, 9])
      for (let length = 0; length < 300; length++)
        assert.notInclude(streamed(`${"so, it ".repeat(50).slice(0, length)} ${text}`, [size]), secret)
  })
})

describe("Redaction of text like that of a secret's place", () => {
  it.each([
    "src/Run.ts:5432:10: error TS2322",
    "packages/a.ts:5432:  const a: string = b",
    "listening on 127.0.0.1:5432",
    "at 12:54:32 the tests pass: 42",
    "pass = true",
    "pass=true",
    "first_pass: 3",
    "password: required",
    '"d": "M10 20L30 40"',
    '"k": "short"',
    "git login before you push",
    "vault login before the deployment",
    "cargo login --help",
    "CSRF-token handling in forms",
    "the auth-token middleware",
    "GRANT ALL IDENTIFIED BY clause",
    "zip -r archive.zip folder",
    "mongosh -p --host db.test",
    "http -a request to the server",
    "echo hello | docker build -",
    "index of context in a codex",
    "MTAx",
    "USE_AUTH=true",
    "npm config set registry https://npm.example/",
    "-----BEGIN OPENSSL NOTES-----\nhello\n",
    "export const pass = (value: string) => value"
  ])("keeps %s", (text) => {
    assert.strictEqual(redaction.text(text), text)
  })
})
