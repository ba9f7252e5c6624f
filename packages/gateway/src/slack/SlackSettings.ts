/** The settings of a bot on Slack. A secret stands in a variable or, better, in a file that one names. */
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
import { Effect, Redacted, Schema } from "effect"
import { ApiOrigin } from "../platform/ApiOrigin.ts"
import type { SlackConfig } from "./SlackConfig.ts"

const DOMAIN = "https://slack.com"

export const slackSettings = [
  {
    name: "CORRAL_SLACK_APP_ID",
    what: "The app's id on Slack, `A…`. Unset, there is no bot there.",
    fallback: ""
  },
  ...secretSettings("CORRAL_SLACK_SIGNING_SECRET", "The app's Signing Secret; needed with an app id."),
  ...secretSettings(
    "CORRAL_SLACK_BOT_TOKEN",
    "The bot's token in its workspace, `xoxb-…`, for calls to the platform."
  ),
  {
    name: "CORRAL_SLACK_BOT_USER_ID",
    what: "Who is mentioned where the bot is, `U…`. Unset, the platform is asked with the bot's token.",
    fallback: ""
  },
  {
    name: "CORRAL_SLACK_TEAMS",
    what: "Workspaces, `T…`, separated by commas, whose events are taken. Unset: of every one that has installed the app.",
    fallback: ""
  },
  {
    name: "CORRAL_SLACK_LANGUAGE",
    what: "Language of cards, and of people whose own is not known: `en` or `zh`.",
    fallback: "en"
  },
  { name: "CORRAL_SLACK_DOMAIN", what: "Origin of the platform's API.", fallback: DOMAIN }
] as const satisfies ReadonlyArray<Setting>

type Name = (typeof slackSettings)[number]["name"]

const AppId = Schema.String.check(Schema.isPattern(/^A[A-Z0-9]{1,60}$/u))
const UserId = Schema.String.check(Schema.isPattern(/^[UW][A-Z0-9]{1,60}$/u))

/** The bot of an environment; undefined where it names none. */
export const slackFrom = Effect.fnUntraced(function* (
  env: Environment
): Effect.fn.Return<SlackConfig | undefined, SettingInvalid> {
  const read = settingReader<Name>(env)
  const appId = yield* read("CORRAL_SLACK_APP_ID", AppId, undefined, "an app id such as A0123ABCD")
  const signingSecret = yield* secretOf(env, "CORRAL_SLACK_SIGNING_SECRET")
  const botToken = yield* secretOf(env, "CORRAL_SLACK_BOT_TOKEN")
  if (appId === undefined) {
    const useless = slackSettings.find(({ name }) => valueOr(env[name], undefined) !== undefined)
    return useless === undefined
      ? undefined
      : yield* invalidSetting("CORRAL_SLACK_APP_ID", `an app id, because ${useless.name} is set`)
  }
  if (signingSecret === undefined)
    return yield* invalidSetting("CORRAL_SLACK_SIGNING_SECRET", "the app's Signing Secret")
  // With the token of a person the bot would speak in that person's name.
  if (botToken !== undefined && !/^xoxb-[\x21-\x7e]+$/.test(Redacted.value(botToken)))
    return yield* invalidSetting("CORRAL_SLACK_BOT_TOKEN", "a bot's token, xoxb-…")
  return {
    appId,
    signingSecret,
    botToken,
    botUserId: yield* read("CORRAL_SLACK_BOT_USER_ID", UserId, undefined, "a user id such as U0123ABCD"),
    domain: yield* read(
      "CORRAL_SLACK_DOMAIN",
      ApiOrigin,
      DOMAIN,
      "an https origin, or an http one on loopback, without a path"
    ),
    teams: splitList(env["CORRAL_SLACK_TEAMS"]),
    language: yield* read("CORRAL_SLACK_LANGUAGE", Schema.Literals(["en", "zh"]), "en" as const, "en or zh")
  }
})
