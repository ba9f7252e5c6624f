/** The Gateway inside this process, beside the Hub and on its database. Loaded by `corral up` alone, where a bot is configured. */
import * as Gateway from "@corral/gateway/Gateway"
import { gatewayConfigFrom } from "@corral/gateway/GatewaySettings"
import { GatewayServer } from "@corral/gateway/http/Server"
import { checkVariables } from "@corral/service/UnknownVariables"
import { Context, Effect, Layer, Redacted } from "effect"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"

const stopped = ({ message }: { readonly message: string }) =>
  new CommandFailed({ message, exitCode: exitCodes.failed })

const bots = ["CORRAL_FEISHU_APP_ID", "CORRAL_SLACK_APP_ID"]

/** Whether the environment names a bot on a chat platform. */
export const hasBot = (environment: Readonly<Record<string, string>>): boolean =>
  bots.some((name) => (environment[name] ?? "") !== "")

/** Refuses misspelled settings of the Gateway. Without a bot too, because the bot's own setting may be misspelled. */
export const checkGatewaySettings = (environment: Readonly<Record<string, string>>) =>
  Effect.mapError(checkVariables(environment), stopped)

export interface GatewayHub {
  readonly url: string
  /** What the Hub takes from a Gateway. */
  readonly token: Redacted.Redacted
  readonly databaseUrl: Redacted.Redacted
}

/** Serves until the scope closes; gives the server's address. */
export const startGateway = (environment: Readonly<Record<string, string>>, hub: GatewayHub) =>
  gatewayConfigFrom({
    ...environment,
    CORRAL_DATABASE_URL: Redacted.value(hub.databaseUrl),
    CORRAL_HUB_URL: hub.url,
    CORRAL_GATEWAY_HUB_TOKEN: Redacted.value(hub.token)
  }).pipe(
    Effect.flatMap((config) => Layer.build(Gateway.gatewayLayer(config))),
    Effect.map((services) => Context.get(services, GatewayServer)),
    Effect.mapError(stopped)
  )
