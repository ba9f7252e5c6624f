/** What a Gateway knows of its bot on Feishu or Lark. */
import type { Redacted } from "effect"

export interface FeishuConfig {
  readonly appId: string
  /** For calls to the platform. */
  readonly appSecret?: Redacted.Redacted | undefined
  /** Where it is set, nothing but signed and encrypted requests is taken. */
  readonly encryptKey?: Redacted.Redacted | undefined
  /** Needed for what comes by webhook; without it nothing is taken there. */
  readonly verificationToken?: Redacted.Redacted | undefined
  /** How events come. Absent: by webhook. `long`: over a connection of the bot's own making, for which it needs its secret. */
  readonly connection?: "webhook" | "long" | undefined
  /** Origin of the platform's API. */
  readonly domain: string
  /** Whose events are taken; empty: of every tenant that has installed the bot. */
  readonly tenants: ReadonlyArray<string>
  /** Who is mentioned where the bot is: an open id. */
  readonly botId?: string | undefined
}
