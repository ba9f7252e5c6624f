/** Configuration of a bot on Slack. */
import type { Redacted } from "effect"
import type { LocalizedText } from "../platform/LocalizedText.ts"

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
