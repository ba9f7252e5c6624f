import { assert, describe, it } from "@effect/vitest"
import { readEdgeConfig, edgeSettings } from "@corral/edge/EdgeSettings"
import { readGatewayConfig, gatewaySettings } from "@corral/gateway/GatewaySettings"
import { readHubConfig, hubSettings } from "@corral/hub/HubSettings"
import { type Environment, type SettingInvalid, variablesOf } from "@corral/service/settings/Setting"
import { Effect, Redacted, Result } from "effect"
import * as fc from "fast-check"
import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"

type Reader = (env: Environment) => Effect.Effect<object, SettingInvalid>

const folder = mkdtempSync(join(tmpdir(), "corral-settings-"))
afterAll(() => rmSync(folder, { recursive: true }))
const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const TOKEN = "a-token-of-more-than-32-characters"
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const secretFile = file("secret", `${TOKEN}\n`)
const keyFile = file("key.pem", privateKey.export({ type: "pkcs8", format: "pem" }).toString())
const certificateFile = file("ca.pem", "-----BEGIN CERTIFICATE-----\n")
const nowhere = join(folder, "nowhere")

interface Example {
  /** A value that changes the configuration. */
  readonly accepted: string
  /** Absent where every text is accepted. */
  readonly rejected?: string
  /** Variables that the setting needs. */
  readonly environment?: Environment
}

const collector = { CORRAL_OTLP_URL: "https://otlp.example" }
const database = { CORRAL_DATABASE_URL: "postgres://corral:word@127.0.0.1/corral" }
const client = { CORRAL_OIDC_ISSUER: "https://idp.example", CORRAL_OIDC_CLIENT_ID: "corral" }
const provider = { ...client, CORRAL_OIDC_CLIENT_SECRET: "word" }
const gatewayHub = { CORRAL_HUB_URL: "https://hub.example", CORRAL_GATEWAY_HUB_TOKEN: "word" }
const feishu = { CORRAL_FEISHU_APP_ID: "cli_1", CORRAL_FEISHU_VERIFICATION_TOKEN: "word" }
const slack = { CORRAL_SLACK_APP_ID: "A1", CORRAL_SLACK_SIGNING_SECRET: "word" }

const duration = { accepted: "5000", rejected: "5 seconds" }
const inFile = (environment: Environment = {}): Example => ({
  accepted: secretFile,
  rejected: nowhere,
  environment
})

const contact = { accepted: "mailto:security@corral.example", rejected: "security@corral.example" }

const telemetry: Readonly<Record<string, Example>> = {
  CORRAL_OTLP_URL: { accepted: "https://otlp.example", rejected: "otlp.example" },
  CORRAL_OTLP_HEADERS: { accepted: "team=corral", rejected: "no-header", environment: collector },
  CORRAL_OTLP_HEADERS_FILE: {
    accepted: file("headers", "team=corral"),
    rejected: nowhere,
    environment: collector
  },
  CORRAL_METRICS_TOKEN: { accepted: TOKEN, rejected: "short" },
  CORRAL_METRICS_TOKEN_FILE: inFile()
}

const edge: Readonly<Record<string, Example>> = {
  CORRAL_HOME: { accepted: "/srv/corral" },
  CORRAL_EDGE_HOST: { accepted: "::1", rejected: "0.0.0.0" },
  CORRAL_EDGE_PORT: { accepted: "4000", rejected: "65536" },
  CORRAL_EDGE_TOKEN_FILE: { accepted: "/srv/token" },
  CORRAL_EDGE_HUB_URL: { accepted: "https://hub.example", rejected: "hub.example" },
  CORRAL_EDGE_CONFIG_FILE: { accepted: "/srv/config.json" },
  CORRAL_EDGE_PRICES_FILE: { accepted: "/srv/prices.json" },
  CORRAL_EDGE_EDITOR_FOLDER: { accepted: "/home/ada/.config/Code" },
  CORRAL_EDGE_WORKSPACES: {
    accepted: '[{"id":"api","path":"/api"}]',
    rejected: '[{"id":"api","path":"api"}]'
  },
  CORRAL_EDGE_ALLOWED_ORIGINS: { accepted: '["app://corral"]', rejected: '["corral"]' },
  CORRAL_EDGE_ALLOWED_ENV: { accepted: '["CI"]', rejected: '["PATH"]' },
  CORRAL_EDGE_RUN_TIMEOUT_MS: duration,
  CORRAL_EDGE_RUN_CAP_MS: duration,
  CORRAL_EDGE_CANCEL_GRACE_MS: duration,
  CORRAL_EDGE_APPROVAL_TTL_MS: duration,
  CORRAL_EDGE_SETTLE_MS: duration,
  CORRAL_EDGE_BACKGROUND_MS: duration,
  CORRAL_EDGE_CHECK_MS: duration,
  CORRAL_EDGE_FIRST_EVENT_MS: duration,
  CORRAL_EDGE_SILENCE_MS: duration,
  CORRAL_EDGE_SILENCE_NOTICE_MS: duration,
  CORRAL_EDGE_ORPHAN_MS: { accepted: "0", rejected: "-1" },
  CORRAL_EDGE_CONTAINMENT: { accepted: "environment_mark", rejected: "cgroup" },
  CORRAL_EDGE_CONFINEMENT: { accepted: "required", rejected: "on" },
  CORRAL_EDGE_RUN_HOSTS: { accepted: "registry.npmjs.org, 127.0.0.1:11434", rejected: "https://example.com" },
  CORRAL_EDGE_PROXY_KEYS: {
    accepted: '[{"adapter": "codex", "addresses": {"OPENAI_API_KEY": ["https://models.example.com/v1"]}}]',
    rejected: '[{"adapter": "codex", "addresses": {"OPENAI_API_KEY": ["models.example.com"]}}]'
  },
  CORRAL_EDGE_MAX_RUNS: { accepted: "5", rejected: "0" },
  CORRAL_EDGE_MAX_QUEUED: { accepted: "5", rejected: "-1" },
  CORRAL_EDGE_REQUESTS_PER_SECOND: { accepted: "5", rejected: "0" },
  CORRAL_EDGE_RETENTION_DAYS: { accepted: "5", rejected: "36501" },
  CORRAL_EDGE_RETENTION_MAX_MB: { accepted: "5", rejected: "16777217" },
  CORRAL_EDGE_CACHE_MAX_MB: { accepted: "5", rejected: "16777217" },
  CORRAL_EDGE_RAW_OUTPUT: { accepted: "keep", rejected: "yes" },
  CORRAL_EDGE_STREAM_PING_MS: duration,
  CORRAL_EDGE_STREAM_STALL_MS: duration,
  ...telemetry
}

const hub: Readonly<Record<string, Example>> = {
  CORRAL_HOME: { accepted: "/srv/corral" },
  CORRAL_HUB_HOST: { accepted: "::1", rejected: "hub.example" },
  CORRAL_HUB_PORT: { accepted: "4000", rejected: "http" },
  CORRAL_HUB_PUBLIC_URL: { accepted: "https://hub.example", rejected: "https://hub.example/path" },
  CORRAL_DATABASE_URL: { accepted: "postgres://a:b@db/corral", rejected: "mysql://a:b@db/corral" },
  CORRAL_HUB_DATABASE_CONNECTIONS: { accepted: "5", rejected: "1" },
  CORRAL_HUB_REQUESTS_PER_SECOND: { accepted: "50", rejected: "0" },
  CORRAL_HUB_SIGN_INS_PER_MINUTE: { accepted: "50", rejected: "0" },
  CORRAL_HUB_TRUSTED_PROXIES: { accepted: "127.0.0.1, 10.0.0.0/8", rejected: "proxy.example" },
  CORRAL_HUB_RETENTION_DAYS: { accepted: "5", rejected: "forever" },
  CORRAL_HUB_DEV_SIGN_IN: { accepted: "1", rejected: "yes" },
  CORRAL_HUB_GATEWAY_TOKEN: { accepted: `${TOKEN},${TOKEN}`, rejected: `${TOKEN},short` },
  CORRAL_HUB_GATEWAY_TOKEN_FILE: inFile(),
  CORRAL_OIDC_ISSUER: {
    accepted: "https://other.example",
    rejected: "http://idp.example",
    environment: provider
  },
  CORRAL_OIDC_CLIENT_ID: { accepted: "another", rejected: "é", environment: provider },
  CORRAL_OIDC_CLIENT_SECRET: { accepted: "another", environment: provider },
  CORRAL_OIDC_CLIENT_SECRET_FILE: inFile(client),
  CORRAL_OIDC_CLIENT_KEY_FILE: { accepted: keyFile, rejected: secretFile, environment: client },
  CORRAL_OIDC_TOKEN_AUTH: { accepted: "client_secret_post", rejected: "digest", environment: provider },
  CORRAL_OIDC_SCOPES: { accepted: "openid", rejected: "email", environment: provider },
  CORRAL_OIDC_CLAIM_NAME: { accepted: "profile.name", rejected: "a name", environment: provider },
  CORRAL_OIDC_CLAIM_EMAIL: { accepted: "mail", rejected: "a mail", environment: provider },
  CORRAL_OIDC_CLAIM_GROUPS: { accepted: "roles", rejected: "a role", environment: provider },
  CORRAL_OIDC_ALLOWED_GROUPS: { accepted: "one, two", environment: provider },
  CORRAL_OIDC_ALLOWED_DOMAINS: { accepted: "Example.com", environment: provider },
  CORRAL_OIDC_CA_FILE: { accepted: certificateFile, rejected: secretFile, environment: provider },
  CORRAL_OIDC_PROMPT: { accepted: "login", rejected: "é", environment: provider },
  CORRAL_OIDC_ACR_VALUES: { accepted: "mfa", rejected: " ", environment: provider },
  CORRAL_SECURITY_CONTACT: contact,
  ...telemetry
}

const gateway: Readonly<Record<string, Example>> = {
  CORRAL_GATEWAY_HOST: { accepted: "0.0.0.0", rejected: "gateway.example" },
  CORRAL_GATEWAY_PORT: { accepted: "4000", rejected: "http" },
  CORRAL_DATABASE_URL: { accepted: "postgres://a:b@db/corral", rejected: "mysql://a:b@db/corral" },
  CORRAL_GATEWAY_DATABASE_CONNECTIONS: { accepted: "5", rejected: "3" },
  CORRAL_GATEWAY_REQUESTS_PER_SECOND: { accepted: "5", rejected: "0" },
  CORRAL_GATEWAY_TRUSTED_PROXIES: { accepted: "10.0.0.0/8", rejected: "10.0.0.0/33" },
  CORRAL_HUB_URL: {
    accepted: "https://other.example",
    rejected: "https://hub.example/",
    environment: gatewayHub
  },
  CORRAL_GATEWAY_HUB_TOKEN: { accepted: "another", environment: gatewayHub },
  CORRAL_GATEWAY_HUB_TOKEN_FILE: inFile({ CORRAL_HUB_URL: "https://hub.example" }),
  CORRAL_FEISHU_APP_ID: { accepted: "cli_2", rejected: "cli 2", environment: feishu },
  CORRAL_FEISHU_APP_SECRET: { accepted: "another", environment: feishu },
  CORRAL_FEISHU_APP_SECRET_FILE: inFile(feishu),
  CORRAL_FEISHU_ENCRYPT_KEY: { accepted: "another", environment: feishu },
  CORRAL_FEISHU_ENCRYPT_KEY_FILE: inFile(feishu),
  CORRAL_FEISHU_VERIFICATION_TOKEN: { accepted: "another", environment: feishu },
  CORRAL_FEISHU_VERIFICATION_TOKEN_FILE: inFile({
    CORRAL_FEISHU_APP_ID: "cli_a0123456789abcde",
    CORRAL_FEISHU_APP_SECRET: "word",
    CORRAL_FEISHU_CONNECTION: "long"
  }),
  CORRAL_FEISHU_CONNECTION: {
    accepted: "long",
    rejected: "socket",
    environment: { ...feishu, CORRAL_FEISHU_APP_ID: "cli_a0123456789abcde", CORRAL_FEISHU_APP_SECRET: "word" }
  },
  CORRAL_FEISHU_DOMAIN: {
    accepted: "https://open.larksuite.com",
    rejected: "http://open.feishu.cn",
    environment: feishu
  },
  CORRAL_FEISHU_TENANTS: { accepted: "t1, t2", environment: feishu },
  CORRAL_FEISHU_BOT_ID: { accepted: "ou_1", rejected: "ou 1", environment: feishu },
  CORRAL_SLACK_APP_ID: { accepted: "A2", rejected: "cli_1", environment: slack },
  CORRAL_SLACK_SIGNING_SECRET: { accepted: "another", environment: slack },
  CORRAL_SLACK_SIGNING_SECRET_FILE: inFile({ CORRAL_SLACK_APP_ID: "A1" }),
  CORRAL_SLACK_BOT_TOKEN: { accepted: "xoxb-1", rejected: "xoxp-1", environment: slack },
  CORRAL_SLACK_BOT_TOKEN_FILE: { accepted: file("bot", "xoxb-1"), rejected: nowhere, environment: slack },
  CORRAL_SLACK_BOT_USER_ID: { accepted: "U1", rejected: "ada", environment: slack },
  CORRAL_SLACK_TEAMS: { accepted: "T1, T2", environment: slack },
  CORRAL_SLACK_LANGUAGE: { accepted: "zh", rejected: "fr", environment: slack },
  CORRAL_SLACK_DOMAIN: { accepted: "https://slack.example", rejected: "slack.example", environment: slack },
  CORRAL_SECURITY_CONTACT: contact,
  ...telemetry
}

/** The configuration without Redacted values, which compare as equal. */
const revealed = (value: unknown): unknown => {
  if (Redacted.isRedacted(value)) return revealed(Redacted.value(value))
  if (Array.isArray(value)) return value.map(revealed)
  if (value?.constructor !== Object) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, revealed(each)]))
}

const services = [
  { name: "Edge", table: edgeSettings, read: readEdgeConfig, examples: edge, base: {} },
  { name: "Hub", table: hubSettings, read: readHubConfig, examples: hub, base: {} },
  { name: "Gateway", table: gatewaySettings, read: readGatewayConfig, examples: gateway, base: database }
] satisfies ReadonlyArray<{ readonly read: Reader; readonly [key: string]: unknown }>

const page = readFileSync(new URL("../docs/configuration.md", import.meta.url), "utf8")

describe.each(services)("Settings of the $name", ({ base, examples, read, table }) => {
  /** The configuration, or the sentence of the error. */
  const outcome = (env: Environment): unknown => {
    const result = Effect.runSync(Effect.result<object, SettingInvalid, never>(read(env)))
    if (Result.isFailure(result)) return result.failure.message
    const { environment: _, ...config }: { readonly environment?: unknown } = result.success
    return revealed(config)
  }

  it("have an example each", () => {
    assert.deepStrictEqual(
      variablesOf(table).map(({ name }) => name),
      Object.keys(examples)
    )
  })

  it.each(variablesOf(table))("document $name", (variable) => {
    const shown = variable.default === "" ? "" : `\`${variable.default}\``
    assert.include(page, `| \`${variable.name}\` | ${variable.doc} | ${shown} |`)
    assert.match(variable.doc, /\.$/)
  })

  it.each(Object.entries(examples))("read %s", (name, { accepted, environment }) => {
    const env: Environment = { ...base, ...environment }
    const configured = outcome({ ...env, [name]: accepted })
    assert.isObject(configured)
    assert.notDeepEqual(configured, outcome(env))
    assert.deepStrictEqual(outcome({ ...env, [name]: "" }), outcome({ ...env, [name]: undefined }))
  })

  it.each(Object.entries(examples))(
    "reject a wrong %s in one sentence without its value",
    (name, example) => {
      const { environment, rejected } = example
      const env: Environment = { ...base, ...environment }
      if (rejected !== undefined) {
        const message = outcome({ ...env, [name]: rejected })
        assert.match(String(message), new RegExp(`^${name} is not usable: expected \\S[^\\n]*\\.$`))
        if (rejected.trim().length > 4) assert.notInclude(String(message), rejected)
      }
      fc.assert(
        fc.property(fc.string({ minLength: 12 }), (text) => {
          const message = outcome({ ...env, [name]: text })
          if (typeof message !== "string") return
          assert.match(message, /^CORRAL_\w+ is not usable: expected \S[^\n]*\.$/)
          assert.notInclude(message, text)
        }),
        { numRuns: 20 }
      )
    }
  )
})
