/** Gateway in this process, on the database of the Hub. Loaded only by `corral up` with a configured bot. */
import * as Gateway from "@corral/gateway/Gateway"
import { GatewayConfig } from "@corral/gateway/GatewayConfig"
import { readGatewayConfig } from "@corral/gateway/GatewaySettings"
import { GatewayServer } from "@corral/gateway/http/Server"
import { checkVariables } from "@corral/service/settings/UnknownVariables"
import { Context, Effect, Layer, Redacted } from "effect"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"

const startFailed = ({ message }: { readonly message: string }) =>
  new CommandFailed({ message, exitCode: exitCodes.failed })

const bots = ["CORRAL_FEISHU_APP_ID", "CORRAL_SLACK_APP_ID"]

/** Whether the environment configures a bot of a chat platform. */
export const hasBot = (environment: Readonly<Record<string, string>>): boolean =>
  bots.some((name) => (environment[name] ?? "") !== "")

/** Rejects misspelled Gateway settings, even without a bot: the setting of the bot itself may be misspelled. */
export const checkGatewaySettings = (environment: Readonly<Record<string, string>>) =>
  Effect.mapError(checkVariables(environment), startFailed)

export interface GatewayHub {
  readonly url: string
  /** Gateway token that the Hub accepts. */
  readonly token: Redacted.Redacted
  readonly databaseUrl: Redacted.Redacted
}

/** Serves until the scope closes. Returns the server. */
export const startGateway = (environment: Readonly<Record<string, string>>, hub: GatewayHub) => {
  const config = readGatewayConfig({
    ...environment,
    CORRAL_DATABASE_URL: Redacted.value(hub.databaseUrl),
    CORRAL_HUB_URL: hub.url,
    CORRAL_GATEWAY_HUB_TOKEN: Redacted.value(hub.token)
  })
  return Layer.build(Layer.provide(Gateway.gatewayLayer, Layer.effect(GatewayConfig, config))).pipe(
    Effect.map((services) => Context.get(services, GatewayServer)),
    Effect.mapError(startFailed)
  )
}
