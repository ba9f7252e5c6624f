import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { variablesOf } from "@corral/service/settings/Setting"
import { readGatewayConfig, gatewaySettings } from "../src/GatewaySettings.ts"

const database = { CORRAL_DATABASE_URL: "postgres://corral:s3cret@127.0.0.1/corral" }
const bot = { CORRAL_FEISHU_APP_ID: "cli_1", CORRAL_FEISHU_VERIFICATION_TOKEN: "s3cret-token" }

const slackBot = { CORRAL_SLACK_APP_ID: "A01", CORRAL_SLACK_SIGNING_SECRET: "s3cret-signing" }

const refused = (env: Readonly<Record<string, string>>) =>
  Effect.map(Effect.flip(readGatewayConfig(env)), ({ message }) => message)

describe("readGatewayConfig", () => {
  it.effect("needs a database and nothing else", () =>
    Effect.gen(function* () {
      const config = yield* readGatewayConfig(database)
      assert.deepInclude(config, { host: "127.0.0.1", port: 0, feishu: undefined, hub: undefined })
      assert.notInclude(JSON.stringify(config), "s3cret")
      assert.match(yield* refused({}), /^CORRAL_DATABASE_URL is not usable: /)
    })
  )

  it.effect("reads a bot, and shows none of its secrets", () =>
    Effect.gen(function* () {
      const { feishu } = yield* readGatewayConfig({
        ...database,
        ...bot,
        CORRAL_FEISHU_ENCRYPT_KEY: "s3cret-key",
        CORRAL_FEISHU_TENANTS: "t_1, t_2"
      })
      assert.deepInclude(feishu, {
        appId: "cli_1",
        domain: "https://open.feishu.cn",
        tenants: ["t_1", "t_2"]
      })
      assert.notInclude(JSON.stringify(feishu), "s3cret")
    })
  )

  it.effect("reads a bot on Slack, and shows none of its secrets", () =>
    Effect.gen(function* () {
      const { feishu, slack } = yield* readGatewayConfig({
        ...database,
        ...slackBot,
        CORRAL_SLACK_BOT_TOKEN: "xoxb-s3cret",
        CORRAL_SLACK_TEAMS: "T1, T2",
        CORRAL_SLACK_LANGUAGE: "zh",
        CORRAL_GATEWAY_HOST: "0.0.0.0"
      })
      assert.isUndefined(feishu)
      assert.deepInclude(slack, {
        appId: "A01",
        domain: "https://slack.com",
        teams: ["T1", "T2"],
        language: "zh",
        botUserId: undefined
      })
      assert.notInclude(JSON.stringify(slack), "s3cret")
      assert.match(
        yield* refused({ ...database, CORRAL_SLACK_APP_ID: "A01" }),
        /^CORRAL_SLACK_SIGNING_SECRET is/
      )
      assert.match(
        yield* refused({ ...database, CORRAL_SLACK_SIGNING_SECRET: "s3cret" }),
        /^CORRAL_SLACK_APP_ID is/
      )
    })
  )

  it.effect("reads a secret from a file, and not from two places", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-settings-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
      const file = join(folder, "key")
      writeFileSync(file, "a key\n")
      chmodSync(file, 0o600)
      const env = { ...database, ...bot, CORRAL_FEISHU_ENCRYPT_KEY_FILE: file }
      const key = (yield* readGatewayConfig(env)).feishu?.encryptKey
      assert.strictEqual(key === undefined ? undefined : Redacted.value(key), "a key")
      const twice = yield* refused({ ...env, CORRAL_FEISHU_ENCRYPT_KEY: "another" })
      assert.match(twice, /^CORRAL_FEISHU_ENCRYPT_KEY_FILE is not usable: /)
    })
  )

  it.effect.each([
    ["CORRAL_GATEWAY_HOST", "example.com"],
    ["CORRAL_GATEWAY_PORT", "http"],
    ["CORRAL_GATEWAY_DATABASE_CONNECTIONS", "1"],
    ["CORRAL_GATEWAY_REQUESTS_PER_SECOND", "0"],
    ["CORRAL_DATABASE_URL", "mysql://s3cret@localhost/x"],
    ["CORRAL_HUB_URL", "https://hub.example/path?query"],
    ["CORRAL_FEISHU_APP_ID", "a b"],
    ["CORRAL_FEISHU_APP_SECRET_FILE", "/nowhere/s3cret"],
    ["CORRAL_FEISHU_DOMAIN", "http://open.feishu.cn"],
    ["CORRAL_FEISHU_BOT_ID", "a b"],
    ["CORRAL_SLACK_APP_ID", "cli_1"],
    ["CORRAL_SLACK_SIGNING_SECRET_FILE", "/nowhere/s3cret"],
    ["CORRAL_SLACK_BOT_TOKEN", "xoxp-s3cret"],
    ["CORRAL_SLACK_BOT_USER_ID", "ada"],
    ["CORRAL_SLACK_LANGUAGE", "fr"],
    ["CORRAL_SLACK_DOMAIN", "http://slack.com"],
    ["CORRAL_FEISHU_CONNECTION", "socket"]
  ] as const)("refuses a wrong %s in one sentence", ([name, value]) =>
    Effect.gen(function* () {
      const bots = { ...bot, ...(name === "CORRAL_SLACK_SIGNING_SECRET_FILE" ? {} : slackBot) }
      const message = yield* refused({ ...database, ...bots, [name]: value })
      assert.match(message, new RegExp(`^${name} is not usable: expected .*\\.$`))
      assert.notInclude(message, "s3cret")
    })
  )

  it.effect("wants a token with a bot, a bot with a token, and a key beyond loopback", () =>
    Effect.gen(function* () {
      const { CORRAL_FEISHU_APP_ID, CORRAL_FEISHU_VERIFICATION_TOKEN } = bot
      assert.match(yield* refused({ ...database, CORRAL_FEISHU_APP_ID }), /^CORRAL_FEISHU_VERIFICATION_TOKEN/)
      assert.match(yield* refused({ ...database, CORRAL_FEISHU_VERIFICATION_TOKEN }), /^CORRAL_FEISHU_APP_ID/)
      const open = { ...database, ...bot, CORRAL_GATEWAY_HOST: "0.0.0.0" }
      assert.match(yield* refused(open), /^CORRAL_FEISHU_ENCRYPT_KEY/)
      assert.strictEqual(
        (yield* readGatewayConfig({ ...open, CORRAL_FEISHU_ENCRYPT_KEY: "k" })).host,
        "0.0.0.0"
      )
    })
  )

  it.effect("wants a secret and an app id of the platform's kind for a long connection, and no token", () =>
    Effect.gen(function* () {
      const long = {
        ...database,
        CORRAL_FEISHU_APP_ID: "cli_a0123456789abcde",
        CORRAL_FEISHU_APP_SECRET: "s3cret",
        CORRAL_FEISHU_CONNECTION: "long"
      }
      assert.deepInclude((yield* readGatewayConfig(long)).feishu, {
        connection: "long",
        verificationToken: undefined
      })
      assert.match(yield* refused({ ...long, CORRAL_FEISHU_APP_SECRET: "" }), /^CORRAL_FEISHU_APP_SECRET/)
      for (const id of ["cli_1", "cli_a0123456789abcdef", "cli_g0123456789abcde"])
        assert.match(yield* refused({ ...long, CORRAL_FEISHU_APP_ID: id }), /^CORRAL_FEISHU_APP_ID/)
      assert.strictEqual((yield* readGatewayConfig({ ...database, ...bot })).feishu?.connection, "webhook")
    })
  )

  it("documents each variable once", () => {
    const names = variablesOf(gatewaySettings).map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
  })
})
