/**
 * Configuration of a bot on Slack. Also its settings.
 */
import { Config, Effect, type Redacted } from "effect"
import { ApiOrigin, type LocalizedText } from "../platform/ChatPlatform.ts"
import {
  invalidSetting,
  optionalSetting,
  secretSetting,
  setting,
  settingGroup,
  switchSetting,
  Secret,
  TextList,
  oneOf,
  redactedSetting,
  textMatching
} from "@corral/service/settings/Setting"

// Settings of a bot on Slack.

// With the token of a user, the bot would post in that user's name.
const BotToken = redactedSetting(
  textMatching("a bot's token, xoxb-…", (text) => /^xoxb-[\x21-\x7e]+$/.test(text))
)

export const slackSettings = {
  appId: switchSetting({
    name: "CORRAL_SLACK_APP_ID",
    doc: "The app's id on Slack, `A…`. If unset, there is no bot on Slack.",
    schema: textMatching("an app id such as A0123ABCD", (text) => /^A[A-Z0-9]{1,60}$/u.test(text))
  }),
  signingSecret: secretSetting(
    "CORRAL_SLACK_SIGNING_SECRET",
    "The app's Signing Secret. Needed with an app id.",
    Secret
  ),
  botToken: secretSetting(
    "CORRAL_SLACK_BOT_TOKEN",
    "The bot's token in its workspace, `xoxb-…`, for calls to the platform.",
    BotToken
  ),
  botUserId: optionalSetting({
    name: "CORRAL_SLACK_BOT_USER_ID",
    doc: "The bot's user id, `U…`. If unset, the Gateway requests it with the bot's token.",
    schema: textMatching("a user id such as U0123ABCD", (text) => /^[UW][A-Z0-9]{1,60}$/u.test(text))
  }),
  teams: setting({
    name: "CORRAL_SLACK_TEAMS",
    doc: "Workspaces, `T…`, whose events are accepted, separated by commas. If unset, all workspaces that installed the app.",
    schema: TextList,
    default: [],
    shownDefault: ""
  }),
  language: setting({
    name: "CORRAL_SLACK_LANGUAGE",
    doc: "Language of cards, and of users whose language is unknown: `en` or `zh`.",
    schema: oneOf(["en", "zh"]),
    default: "en"
  }),
  domain: setting({
    name: "CORRAL_SLACK_DOMAIN",
    doc: "Origin of the platform's API.",
    schema: ApiOrigin,
    default: "https://slack.com"
  })
}

/** The bot; `undefined` without an app id. */
export const slackConfig: Config.Config<SlackConfig | undefined> = settingGroup(
  slackSettings,
  Config.mapEffect(Config.all(slackSettings), ({ signingSecret, ...bot }) =>
    signingSecret === undefined
      ? invalidSetting("CORRAL_SLACK_SIGNING_SECRET", "the app's Signing Secret")
      : Effect.succeed({ ...bot, signingSecret })
  ),
  { name: "CORRAL_SLACK_APP_ID", expected: "an app id" }
)

export interface SlackConfig {
  /** `A…` */
  readonly appId: string
  /** Secret with which Slack signs every request. */
  readonly signingSecret: Redacted.Redacted
  /** For calls to the platform, `xoxb-…`. Absent: the bot only listens. */
  readonly botToken?: Redacted.Redacted | undefined
  /** User id of the bot, `U…`, which mentions contain. Read from the platform by default. */
  readonly botUserId?: string | undefined
  /** Origin of the platform's API. */
  readonly domain: string
  /** Workspaces whose events are accepted, `T…`; empty for every workspace that has installed the app. */
  readonly teams: ReadonlyArray<string>
  /** Language of cards, and of users with an unknown language. */
  readonly language: keyof LocalizedText
}
