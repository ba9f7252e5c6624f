/**
 * The Hub inside this process: its settings for one machine, and its layer built into a scope. Loaded by `corral up` alone.
 *
 * Where no identity provider is configured it brings the one for development, which believes every name.
 */
import * as Hub from "@corral/hub/Hub"
import type { HubConfig } from "@corral/hub/config/HubConfig"
import { hubConfigFromEnvironment } from "@corral/hub/HubSettings"
import { HubServer } from "@corral/hub/http/Server"
import { DEVELOPMENT_ISSUER } from "@corral/hub/signin/DevelopmentProvider"
import { SignIns } from "@corral/hub/signin/SignIns"
import { Users } from "@corral/hub/signin/Users"
import { storeAddress } from "@corral/hub/store/StoreAddress"
import { Context, Effect, Layer, Redacted } from "effect"
import { createServer } from "node:net"
import { userInfo } from "node:os"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"

/** Where the console is unless something else is there: an address that can be kept. */
const USUAL_PORT = 7_400

const stopped = ({ message }: { readonly message: string }) =>
  new CommandFailed({ message, exitCode: exitCodes.failed })

/** That port of the host where it is free, else any. */
const freePort = (host: string, port: number): Effect.Effect<number> =>
  Effect.callback<number>((resume) => {
    const server = createServer()
    server.once("error", () => resume(Effect.succeed(0)))
    server.listen({ host, port }, () => server.close(() => resume(Effect.succeed(port))))
  })

/** The settings of the environment, with another port where one is given, and with a way to sign in. */
export const configureHub = Effect.fnUntraced(function* (
  environment: Readonly<Record<string, string>>,
  port: number | undefined
) {
  const given = port === undefined ? environment["CORRAL_HUB_PORT"] : String(port)
  const configured = yield* hubConfigFromEnvironment({
    ...(environment["CORRAL_OIDC_ISSUER"] === undefined ? { CORRAL_HUB_DEV_SIGN_IN: "1" } : {}),
    ...environment,
    ...(given === undefined ? {} : { CORRAL_HUB_PORT: given })
  }).pipe(Effect.mapError(stopped))
  const free = given === undefined ? yield* freePort(configured.host, USUAL_PORT) : configured.port
  return { ...configured, port: free, devSignInAs: userInfo().username }
})

/** Serves until the scope closes; gives where it is, where its database is, and how its owner signs in. */
export const startHub = Effect.fnUntraced(function* (config: HubConfig) {
  const services = yield* Effect.mapError(Layer.build(Hub.hubLayer(config)), stopped)
  const { publicUrl, url } = Context.get(services, HubServer)
  const owner = config.devSignInAs ?? ""
  /** A sign-in of whoever runs this, as the provider for development would come to. Nobody is asked: it is their machine. */
  const ownerToken = Effect.gen(function* () {
    const users = yield* Users
    const signIns = yield* SignIns
    const { id } = yield* users.admit({ issuer: DEVELOPMENT_ISSUER, subject: owner, name: owner })
    return Redacted.make((yield* signIns.issue(id, "cli")).token)
  })
  return {
    url,
    publicUrl,
    databaseUrl: yield* Effect.provideContext(storeAddress, services),
    owner: config.devSignIn === true ? owner : undefined,
    ownerToken: Effect.orDie(Effect.provideContext(ownerToken, services))
  }
})
export type RunningHub = Effect.Success<ReturnType<typeof startHub>>
