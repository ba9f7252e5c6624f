/** The settings of a bot on Feishu or Lark. A secret stands in a variable or, better, in a file that one names. */
import { secretOf, secretSettings } from "@corral/service/SecretSettings"
import {
  type Environment,
  valueOr,
  invalidSetting,
  splitList,
  settingReader,
  type Setting,
  type SettingInvalid
} from "@corral/service/Settings"
import { Effect, Schema } from "effect"
import { ApiOrigin } from "../platform/ApiOrigin.ts"
import { PlatformId } from "../platform/PlatformId.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"

const DOMAIN = "https://open.feishu.cn"

export const feishuSettings = [
  { name: "CORRAL_FEISHU_APP_ID", what: "The bot's app id, `cli_…`. Unset, there is no bot.", fallback: "" },
  ...secretSettings("CORRAL_FEISHU_APP_SECRET", "The app's secret, for calls to the platform."),
  ...secretSettings(
    "CORRAL_FEISHU_ENCRYPT_KEY",
    "The Encrypt Key. Where it is set, nothing but signed and encrypted requests is taken."
  ),
  ...secretSettings(
    "CORRAL_FEISHU_VERIFICATION_TOKEN",
    "The Verification Token; needed with an app id, unless events come over a long connection."
  ),
  {
    name: "CORRAL_FEISHU_CONNECTION",
    what: "How events come: `webhook`, or `long` over a connection that the Gateway makes, which needs no public address.",
    fallback: "webhook"
  },
  {
    name: "CORRAL_FEISHU_DOMAIN",
    what: "Origin of the platform's API; `https://open.larksuite.com` for Lark.",
    fallback: DOMAIN
  },
  {
    name: "CORRAL_FEISHU_TENANTS",
    what: "Tenant keys, separated by commas, whose events are taken. Unset: of every tenant that has installed the bot.",
    fallback: ""
  },
  {
    name: "CORRAL_FEISHU_BOT_ID",
    what: "The bot's open id, `ou_…`: a message in a group is for the bot where it is mentioned.",
    fallback: ""
  }
] as const satisfies ReadonlyArray<Setting>

type Name = (typeof feishuSettings)[number]["name"]

const Connection = Schema.Literals(["webhook", "long"])
/** The platform's library connects for no other id, without an error. */
const LONG_APP_ID = /^cli_[0-9a-fA-F]{16}$/

/** The bot of an environment; undefined where it names none. */
export const feishuFrom = Effect.fnUntraced(function* (
  env: Environment
): Effect.fn.Return<FeishuConfig | undefined, SettingInvalid> {
  const read = settingReader<Name>(env)
  const appId = yield* read("CORRAL_FEISHU_APP_ID", PlatformId, undefined, "an app id such as cli_a1b2c3")
  const appSecret = yield* secretOf(env, "CORRAL_FEISHU_APP_SECRET")
  const encryptKey = yield* secretOf(env, "CORRAL_FEISHU_ENCRYPT_KEY")
  const verificationToken = yield* secretOf(env, "CORRAL_FEISHU_VERIFICATION_TOKEN")
  if (appId === undefined) {
    const useless = feishuSettings.find(({ name }) => valueOr(env[name], undefined) !== undefined)
    return useless === undefined
      ? undefined
      : yield* invalidSetting("CORRAL_FEISHU_APP_ID", `an app id, because ${useless.name} is set`)
  }
  const connection = yield* read(
    "CORRAL_FEISHU_CONNECTION",
    Connection,
    "webhook" as const,
    "webhook or long"
  )
  if (connection === "webhook" && verificationToken === undefined)
    return yield* invalidSetting("CORRAL_FEISHU_VERIFICATION_TOKEN", "the app's Verification Token")
  if (connection === "long" && appSecret === undefined)
    return yield* invalidSetting("CORRAL_FEISHU_APP_SECRET", "the app's secret, for a long connection")
  if (connection === "long" && !LONG_APP_ID.test(appId))
    return yield* invalidSetting(
      "CORRAL_FEISHU_APP_ID",
      "cli_ and 16 hexadecimal digits, for a long connection"
    )
  return {
    appId,
    appSecret,
    encryptKey,
    verificationToken,
    connection,
    domain: yield* read(
      "CORRAL_FEISHU_DOMAIN",
      ApiOrigin,
      DOMAIN,
      "an https origin, or an http one on loopback, without a path"
    ),
    tenants: splitList(env["CORRAL_FEISHU_TENANTS"]),
    botId: yield* read("CORRAL_FEISHU_BOT_ID", PlatformId, undefined, "an open id such as ou_a1b2c3")
  }
})
