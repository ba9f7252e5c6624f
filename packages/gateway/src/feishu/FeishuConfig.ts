/** Configuration of a bot on Feishu or Lark. */
import type { Redacted } from "effect"

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
