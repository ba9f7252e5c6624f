/** What a Gateway knows of its bot on Slack. */
import type { Redacted } from "effect"
import type { Words } from "../platform/Words.ts"

export interface SlackConfig {
  /** `A…` */
  readonly appId: string
  /** Every request of Slack's is signed with it. */
  readonly signingSecret: Redacted.Redacted
  /** For calls to the platform, `xoxb-…`. Absent: the bot only listens. */
  readonly botToken?: Redacted.Redacted | undefined
  /** Who is mentioned where the bot is, `U…`. Absent: the platform is asked. */
  readonly botUserId?: string | undefined
  /** Origin of the platform's API. */
  readonly domain: string
  /** Workspaces whose events are taken, `T…`; empty: of every one that has installed the app. */
  readonly teams: ReadonlyArray<string>
  /** Of cards, and of people whose own is not known. */
  readonly language: keyof Words
}
