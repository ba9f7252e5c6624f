/**
 * Chat platforms that a Gateway supports. To add one: a group of `GatewayApi`, its webhooks in `http/routes.ts`, a record here, and a
 * folder with its implementation.
 */
import type { Environment, Setting, SettingInvalid } from "@corral/service/Settings"
import { Effect } from "effect"
import { feishu } from "./feishu/Feishu.ts"
import { feishuFrom, feishuSettings } from "./feishu/FeishuSettings.ts"
import type { ChatPlatform } from "./platform/ChatPlatform.ts"
import { slack } from "./slack/Slack.ts"
import { slackFrom, slackSettings } from "./slack/SlackSettings.ts"

interface PlatformRecord<Id extends string, Config> {
  /** The name in paths and in the configuration: `/integrations/<id>/events`. */
  readonly id: Id
  readonly settings: ReadonlyArray<Setting>
  /** Configuration of the bot, `undefined` without a bot. */
  readonly configFrom: (env: Environment) => Effect.Effect<Config | undefined, SettingInvalid>
  readonly make: (config: Config) => ChatPlatform
  /** A missing setting without which the bot must not listen on a public address. */
  readonly missingForPublicHost?: ((config: Config) => string | undefined) | undefined
}

type ConfigsOf<Id extends string, Config> = { readonly [K in Id]?: Config | undefined }

const platform = <const Id extends string, Config>(record: PlatformRecord<Id, Config>) => ({
  id: record.id,
  settings: record.settings,
  /** The configuration under the platform's id. */
  configsFrom: (env: Environment): Effect.Effect<ConfigsOf<Id, Config>, SettingInvalid> =>
    // An object with one computed key has the type of a record of strings.
    Effect.map(record.configFrom(env), (config) => ({ [record.id]: config }) as ConfigsOf<Id, Config>),
  /** The bot of these configurations; empty without one. */
  botsOf: (configs: ConfigsOf<Id, Config>): ReadonlyArray<ChatPlatform> => {
    const config = configs[record.id]
    return config === undefined ? [] : [record.make(config)]
  },
  missingForPublicHost: (configs: ConfigsOf<Id, Config>): string | undefined => {
    const config = configs[record.id]
    return config === undefined ? undefined : record.missingForPublicHost?.(config)
  }
})

export const chatPlatforms = [
  platform({
    id: "feishu",
    settings: feishuSettings,
    configFrom: feishuFrom,
    make: feishu,
    missingForPublicHost: ({ encryptKey }) =>
      encryptKey === undefined ? "CORRAL_FEISHU_ENCRYPT_KEY" : undefined
  }),
  platform({ id: "slack", settings: slackSettings, configFrom: slackFrom, make: slack })
] as const

type Intersection<U> = (U extends unknown ? (value: U) => void : never) extends (value: infer I) => void
  ? I
  : never

/** Configurations of the bots by platform. A platform without a configuration has no bot. */
export type PlatformConfigs = Intersection<Parameters<(typeof chatPlatforms)[number]["botsOf"]>[0]>

export const botsOf = (configs: PlatformConfigs): ReadonlyArray<ChatPlatform> =>
  chatPlatforms.flatMap((each) => each.botsOf(configs))

interface ConfigReader {
  readonly configsFrom: (env: Environment) => Effect.Effect<object, SettingInvalid>
}
const configReaders: ReadonlyArray<ConfigReader> = chatPlatforms

export const platformConfigsFrom = (env: Environment): Effect.Effect<PlatformConfigs, SettingInvalid> =>
  Effect.map(
    Effect.forEach(configReaders, (each) => each.configsFrom(env)),
    // Each reader returns the configuration under its platform's id.
    (configs): PlatformConfigs => Object.assign({}, ...configs)
  )

/** The first setting that is missing for a public listen address. */
export const missingForPublicHost = (configs: PlatformConfigs): string | undefined =>
  chatPlatforms.flatMap((each) => each.missingForPublicHost(configs) ?? [])[0]
