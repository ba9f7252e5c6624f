/**
 * Chat platforms that a Gateway supports. To add one: a group of `GatewayApi`, its webhooks in `http/routes.ts`, a record here, and a
 * folder with its implementation.
 */
import type { SettingTable } from "@corral/service/settings/Setting"
import { Config } from "effect"
import { feishu } from "./feishu/Feishu.ts"
import { feishuConfig, feishuSettings } from "./feishu/FeishuConfig.ts"
import type { ChatPlatform } from "./platform/ChatPlatform.ts"
import { slack } from "./slack/Slack.ts"
import { slackConfig, slackSettings } from "./slack/SlackConfig.ts"

interface PlatformRecord<Id extends string, BotConfig> {
  /** The name in paths and in the configuration: `/integrations/<id>/events`. */
  readonly id: Id
  readonly settings: SettingTable
  /** Configuration of the bot, `undefined` without a bot. */
  readonly config: Config.Config<BotConfig | undefined>
  readonly make: (config: BotConfig) => ChatPlatform
  /** A missing setting without which the bot must not listen on a public address. */
  readonly missingForPublicHost?: ((config: BotConfig) => string | undefined) | undefined
}

type ConfigsOf<Id extends string, BotConfig> = { readonly [K in Id]?: BotConfig | undefined }

const platform = <const Id extends string, BotConfig>(record: PlatformRecord<Id, BotConfig>) => ({
  id: record.id,
  settings: record.settings,
  /** The configuration under the platform's id. */
  configs: Config.map(
    record.config,
    // An object with one computed key has the type of a record of strings.
    (config) => ({ [record.id]: config }) as ConfigsOf<Id, BotConfig>
  ),
  /** The bot of these configurations; empty without one. */
  botsOf: (configs: ConfigsOf<Id, BotConfig>): ReadonlyArray<ChatPlatform> => {
    const config = configs[record.id]
    return config === undefined ? [] : [record.make(config)]
  },
  missingForPublicHost: (configs: ConfigsOf<Id, BotConfig>): string | undefined => {
    const config = configs[record.id]
    return config === undefined ? undefined : record.missingForPublicHost?.(config)
  }
})

const chatPlatforms = [
  platform({
    id: "feishu",
    settings: feishuSettings,
    config: feishuConfig,
    make: feishu,
    missingForPublicHost: ({ encryptKey }) =>
      encryptKey === undefined ? "CORRAL_FEISHU_ENCRYPT_KEY" : undefined
  }),
  platform({ id: "slack", settings: slackSettings, config: slackConfig, make: slack })
] as const

type Intersection<U> = (U extends unknown ? (value: U) => void : never) extends (value: infer I) => void
  ? I
  : never

/** Configurations of the bots by platform. A platform without a configuration has no bot. */
export type PlatformConfigs = Intersection<Parameters<(typeof chatPlatforms)[number]["botsOf"]>[0]>

export const botsOf = (configs: PlatformConfigs): ReadonlyArray<ChatPlatform> =>
  chatPlatforms.flatMap((each) => each.botsOf(configs))

/** Settings of all platforms, by platform. */
export const platformSettings: SettingTable = Object.fromEntries(
  chatPlatforms.map(({ id, settings }) => [id, settings])
)

export const platformConfigs: Config.Config<PlatformConfigs> = Config.all(
  chatPlatforms.map((each): Config.Config<object> => each.configs)
).pipe(
  // Each platform returns its configuration under its id.
  Config.map((configs): PlatformConfigs => Object.assign({}, ...configs))
)

/** The first setting that is missing for a public listen address. */
export const missingForPublicHost = (configs: PlatformConfigs): string | undefined =>
  chatPlatforms.flatMap((each) => each.missingForPublicHost(configs) ?? [])[0]
