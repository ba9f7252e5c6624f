/** Configuration of a bot on Feishu or Lark. */
import { Config, Effect, type Redacted } from "effect"
import {
  invalidSetting,
  optionalSetting,
  secretSetting,
  setting,
  settingGroup,
  switchSetting,
  Secret,
  TextList,
  oneOf
} from "@corral/service/settings/Setting"
import { ApiOrigin, PlatformId } from "../platform/ChatPlatform.ts"

// Settings of a bot on Feishu or Lark.

export const feishuSettings = {
  appId: switchSetting({
    name: "CORRAL_FEISHU_APP_ID",
    doc: "The bot's app id, `cli_…`. If unset, there is no bot.",
    schema: PlatformId.annotate({ expected: "an app id such as cli_a1b2c3" })
  }),
  appSecret: secretSetting(
    "CORRAL_FEISHU_APP_SECRET",
    "The app's secret, for calls to the platform.",
    Secret
  ),
  encryptKey: secretSetting(
    "CORRAL_FEISHU_ENCRYPT_KEY",
    "The Encrypt Key. If set, only signed and encrypted requests are accepted.",
    Secret
  ),
  verificationToken: secretSetting(
    "CORRAL_FEISHU_VERIFICATION_TOKEN",
    "The Verification Token. Needed with an app id, unless events arrive over a long connection.",
    Secret
  ),
  connection: setting({
    name: "CORRAL_FEISHU_CONNECTION",
    doc: "How events arrive: by `webhook`, or over a `long` connection that the Gateway opens, which needs no public address.",
    schema: oneOf(["webhook", "long"]),
    default: "webhook"
  }),
  domain: setting({
    name: "CORRAL_FEISHU_DOMAIN",
    doc: "Origin of the platform's API; `https://open.larksuite.com` for Lark.",
    schema: ApiOrigin,
    default: "https://open.feishu.cn"
  }),
  tenants: setting({
    name: "CORRAL_FEISHU_TENANTS",
    doc: "Keys of the tenants whose events are accepted, separated by commas. If unset, all tenants that installed the bot.",
    schema: TextList,
    default: [],
    shownDefault: ""
  }),
  botId: optionalSetting({
    name: "CORRAL_FEISHU_BOT_ID",
    doc: "The bot's open id, `ou_…`. A message in a group is for the bot if it mentions this id.",
    schema: PlatformId.annotate({ expected: "an open id such as ou_a1b2c3" })
  })
}

/** The platform's library connects for no other id, without an error. */
const LONG_APP_ID = /^cli_[0-9a-fA-F]{16}$/

/** Requires what the kind of connection needs. */
const checkConnection = (bot: FeishuConfig) => {
  if (bot.connection === "webhook")
    return bot.verificationToken === undefined
      ? invalidSetting("CORRAL_FEISHU_VERIFICATION_TOKEN", "the app's Verification Token")
      : Effect.succeed(bot)
  if (bot.appSecret === undefined)
    return invalidSetting("CORRAL_FEISHU_APP_SECRET", "the app's secret, for a long connection")
  return LONG_APP_ID.test(bot.appId)
    ? Effect.succeed(bot)
    : invalidSetting("CORRAL_FEISHU_APP_ID", "cli_ and 16 hexadecimal digits, for a long connection")
}

/** The bot; `undefined` without an app id. */
export const feishuConfig: Config.Config<FeishuConfig | undefined> = settingGroup(
  feishuSettings,
  Config.mapEffect(Config.all(feishuSettings), checkConnection),
  { name: "CORRAL_FEISHU_APP_ID", expected: "an app id" }
)

export interface FeishuConfig {
  readonly appId: string
  /** For calls to the platform. */
  readonly appSecret?: Redacted.Redacted | undefined
  /** If set, only signed and encrypted requests are accepted. */
  readonly encryptKey?: Redacted.Redacted | undefined
  /** Required for webhooks. Without it, every webhook request is refused. */
  readonly verificationToken?: Redacted.Redacted | undefined
  /** How events arrive: by webhook (the default), or over an outbound connection, which requires the app's secret. */
  readonly connection?: "webhook" | "long" | undefined
  /** Origin of the platform's API. */
  readonly domain: string
  /** Tenants whose events are accepted; empty for every tenant that has installed the bot. */
  readonly tenants: ReadonlyArray<string>
  /** Open id of the bot, which mentions of the bot contain. */
  readonly botId?: string | undefined
}
