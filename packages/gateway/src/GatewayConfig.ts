/**
 * Configuration of a Gateway, with the bots of its chat platforms: a plain value, and the service by which layers receive it.
 * `readGatewayConfig` reads it from variables; an embedding program writes it.
 */
import type { TelemetryConfig } from "@corral/service/telemetry/TelemetrySettings"
import { Context, type Redacted } from "effect"
import type { HubAddress } from "./hub/Hub.ts"
import type { PlatformConfigs } from "./ChatPlatforms.ts"

export interface GatewayConfig extends PlatformConfigs {
  /** Address to listen on. Any address except loopback requires signed and encrypted bodies. */
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** PostgreSQL, the Hub's or another one. The Gateway has its own schema. */
  readonly databaseUrl: Redacted.Redacted
  /** Maximum number of database connections. */
  readonly maxConnections: number
  /** Requests per second of one client address. */
  readonly requestsPerSecond: number
  /** Addresses and networks of proxies whose `X-Forwarded-For` or `Forwarded` names the client. */
  readonly trustedProxies?: ReadonlyArray<string> | undefined
  /** The Hub that handles the events. Without one, events are stored and stay pending. */
  readonly hub?: HubAddress | undefined
  /** Where people report vulnerabilities, for `/.well-known/security.txt`: a `mailto:` or `https:` address. */
  readonly securityContact?: string | undefined
  /** Where traces and metrics are sent; nowhere by default. */
  readonly telemetry?: TelemetryConfig | undefined
}

/** Configuration of the Gateway that a layer is part of. */
export const GatewayConfig = Context.Service<GatewayConfig>("corral/gateway/GatewayConfig")

export const gatewayDefaults = {
  host: "127.0.0.1",
  port: 0,
  maxConnections: 20,
  requestsPerSecond: 1_000
} satisfies Partial<GatewayConfig>
