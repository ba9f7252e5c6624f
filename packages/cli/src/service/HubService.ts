/**
 * Hub in this process, with settings for one machine. Loaded only by `corral up`.
 *
 * Without a configured identity provider it uses the development sign-in, which accepts every name.
 */
import { userName } from "@corral/service/UserHome"
import * as Hub from "@corral/hub/Hub"
import { HubConfig } from "@corral/hub/config/HubConfig"
import { readHubConfig } from "@corral/hub/HubSettings"
import { HubServer } from "@corral/hub/http/Server"
import { DEVELOPMENT_ISSUER } from "@corral/hub/signin/DevelopmentProvider"
import { SignInStore } from "@corral/hub/signin/SignInStore"
import { Users } from "@corral/hub/signin/Users"
import { storeAddress } from "@corral/hub/store/Database"
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
