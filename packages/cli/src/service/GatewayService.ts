/** Gateway in this process, on the database of the Hub. Loaded only by `corral up` with a configured bot. */
import { loadLark } from "@corral/gateway/feishu/Sdk"
import * as Gateway from "@corral/gateway/Gateway"
import { GatewayConfig } from "@corral/gateway/GatewayConfig"
import { readGatewayConfig } from "@corral/gateway/GatewaySettings"
import { GatewayServer } from "@corral/gateway/http/Server"
import { checkVariables } from "@corral/service/settings/ReadSettings"
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

/** The package `corral` does not contain Feishu's library: most users do not need it. */
const requireFeishuLibrary = (environment: Readonly<Record<string, string>>) =>
  (environment["CORRAL_FEISHU_APP_ID"] ?? "") === ""
    ? Effect.void
    : Effect.tryPromise({
        try: loadLark,
        catch: () =>
          startFailed({
            message:
              "The library for Feishu is not installed: run `npm install @larksuiteoapi/node-sdk` where Corral is installed, and start again."
          })
      })

export interface GatewayHub {
  readonly url: string
  /** Gateway token that the Hub accepts. */
  readonly token: Redacted.Redacted
  readonly databaseUrl: Redacted.Redacted
}

/** Serves until the scope closes. Returns the server. */
export const startGateway = Effect.fnUntraced(function* (
  environment: Readonly<Record<string, string>>,
  hub: GatewayHub
) {
  yield* requireFeishuLibrary(environment)
  const config = readGatewayConfig({
    ...environment,
    CORRAL_DATABASE_URL: Redacted.value(hub.databaseUrl),
    CORRAL_HUB_URL: hub.url,
    CORRAL_GATEWAY_HUB_TOKEN: Redacted.value(hub.token)
  })
  return yield* Layer.build(Layer.provide(Gateway.gatewayLayer, Layer.effect(GatewayConfig, config))).pipe(
    Effect.map((services) => Context.get(services, GatewayServer)),
    Effect.mapError(startFailed)
  )
})
