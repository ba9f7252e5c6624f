/**
 * Everything a Gateway is told from outside. A plain value: `fromEnvironment` reads it from variables, an embedding program writes it.
 */
import type { TelemetryConfig } from "@corral/service/telemetry/TelemetrySettings"
import type { Redacted } from "effect"
import type { HubAddress } from "./hub/Hub.ts"
import type { FeishuConfig } from "./feishu/FeishuConfig.ts"
import type { SlackConfig } from "./slack/SlackConfig.ts"

export interface GatewayConfig {
  /** Address to listen on. Anything but loopback needs bodies that are signed and encrypted. */
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** PostgreSQL: the Hub's or another. What a Gateway keeps is in a schema of its own. */
  readonly databaseUrl: Redacted.Redacted
  /** To the database, at once. */
  readonly maxConnections: number
  /** Of one address, in a second. */
  readonly requestsPerSecond: number
  /** Addresses and networks of proxies whose `X-Forwarded-For` or `Forwarded` names the client. */
  readonly trustedProxies?: ReadonlyArray<string> | undefined
  /** The Hub that is told of events, and does what they ask for. Absent: they are kept, and wait. */
  readonly hub?: HubAddress | undefined
  /** The bot on Feishu or Lark. Absent: there is none. */
  readonly feishu?: FeishuConfig | undefined
  /** The bot on Slack. Absent: there is none. */
  readonly slack?: SlackConfig | undefined
  /** Who is told of traces and metrics; nobody where it is not said. */
  readonly telemetry?: TelemetryConfig | undefined
}

export const gatewayDefaults = {
  host: "127.0.0.1",
  port: 0,
  maxConnections: 20,
  requestsPerSecond: 1_000
} satisfies Partial<GatewayConfig>
