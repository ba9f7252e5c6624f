/**
 * Hub in this process, with settings for one machine, and the Gateway on its database. Loaded only by `corral up`.
 *
 * Without a configured identity provider the Hub uses the development sign-in, which accepts every name. Without a configured bot no Gateway starts.
 */
import { loadLark } from "@corral/gateway/feishu/FeishuApi"
import * as Gateway from "@corral/gateway/Gateway"
import { GatewayConfig } from "@corral/gateway/GatewayConfig"
import { readGatewayConfig } from "@corral/gateway/GatewaySettings"
import { GatewayServer } from "@corral/gateway/http/Server"
import { HubConfig } from "@corral/hub/config/HubConfig"
import { HubServer } from "@corral/hub/http/Server"
import * as Hub from "@corral/hub/Hub"
import { readHubConfig } from "@corral/hub/HubSettings"
import { DEVELOPMENT_ISSUER } from "@corral/hub/signin/DevelopmentProvider"
import { SignInStore } from "@corral/hub/signin/SignInStore"
import { Users } from "@corral/hub/signin/Users"
import { storeAddress } from "@corral/hub/store/Database"
import { checkVariables } from "@corral/service/settings/ReadSettings"
import { userName } from "@corral/service/UserHome"
import { Context, Effect, Layer, Redacted } from "effect"
import { createServer } from "node:net"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"

/** Default port of the console, so that its URL is stable. */
const DEFAULT_PORT = 7_400

const startFailed = ({ message }: { readonly message: string }) =>
  new CommandFailed({ message, exitCode: exitCodes.failed })

/** Returns this port if it is free, otherwise 0 for any free port. */
const freePort = (host: string, port: number): Effect.Effect<number> =>
  Effect.callback<number>((resume) => {
    const server = createServer()
    server.once("error", () => resume(Effect.succeed(0)))
    server.listen({ host, port }, () => server.close(() => resume(Effect.succeed(port))))
  })

/** Reads the settings from the environment. `port` overrides the configured port. Adds a sign-in if none is configured. */
export const configureHub = Effect.fnUntraced(function* (
  environment: Readonly<Record<string, string>>,
  port: number | undefined
) {
  const chosenPort = port === undefined ? environment["CORRAL_HUB_PORT"] : String(port)
  const configured = yield* readHubConfig({
    ...(environment["CORRAL_OIDC_ISSUER"] === undefined ? { CORRAL_HUB_DEV_SIGN_IN: "1" } : {}),
    ...environment,
    ...(chosenPort === undefined ? {} : { CORRAL_HUB_PORT: chosenPort })
  }).pipe(Effect.mapError(startFailed))
  const hubPort = chosenPort === undefined ? yield* freePort(configured.host, DEFAULT_PORT) : configured.port
  return { ...configured, port: hubPort, devSignInAs: userName() }
})

/** Serves until the scope closes. Returns its URLs, its database URL and the owner's sign-in. */
export const startHub = Effect.fnUntraced(function* (config: HubConfig) {
  const hub = Layer.provide(Hub.wholeHubLayer, Layer.succeed(HubConfig, config))
  const services = yield* Effect.mapError(Layer.build(hub), startFailed)
  const { publicUrl, url } = Context.get(services, HubServer)
  const owner = config.devSignInAs ?? ""
  /**
   * Sign-in of the user who runs this process: an earlier one that is still valid, or a new one. Needs no confirmation, because it is the user's
   * machine.
   */
  const ownerToken = Effect.fnUntraced(function* (earlier?: Redacted.Redacted) {
    const users = yield* Users
    const signIns = yield* SignInStore
    const { id } = yield* users.admit({ issuer: DEVELOPMENT_ISSUER, subject: owner, name: owner })
    const active = earlier === undefined ? undefined : yield* signIns.find(Redacted.value(earlier))
    if (earlier !== undefined && active?.userId === id) return earlier
    return Redacted.make((yield* signIns.issue(id, "cli")).token)
  })
  return {
    url,
    publicUrl,
    databaseUrl: yield* Effect.provideContext(storeAddress, services),
    owner: config.devSignIn === true ? owner : undefined,
    ownerToken: (earlier?: Redacted.Redacted) =>
      Effect.orDie(Effect.provideContext(ownerToken(earlier), services))
  }
})
export type RunningHub = Effect.Success<ReturnType<typeof startHub>>

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
