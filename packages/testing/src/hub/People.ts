/**
 * Users of a running Hub, created in its store by its own services instead of a sign-in at an identity provider. For tests of other
 * features.
 */
import type { UserId } from "@corral/domain/identity/Ids"
import type { SignInKind } from "@corral/domain/identity/User"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { hubCoreLayer } from "@corral/hub/Hub"
import { HubConfig, hubDefaults } from "@corral/hub/config/HubConfig"
import { SignInStore } from "@corral/hub/signin/SignInStore"
import { Users } from "@corral/hub/signin/Users"

type Core = Layer.Success<typeof hubCoreLayer>

export class People {
  private readonly runtime: ManagedRuntime.ManagedRuntime<Core, unknown>

  constructor(home: string, databaseUrl: string | undefined) {
    this.runtime = ManagedRuntime.make(
      Layer.provide(
        hubCoreLayer,
        Layer.succeed(HubConfig, {
          ...hubDefaults,
          home,
          maxConnections: 5,
          databaseUrl: databaseUrl === undefined ? undefined : Redacted.make(databaseUrl)
        })
      )
    )
  }

  /** Runs an effect with the Hub's services. */
  act<A, E>(effect: Effect.Effect<A, E, Core>): Promise<A> {
    return this.runtime.runPromise(effect)
  }

  /** Creates a sign-in for the user with that name. The first call creates the user. */
  signIn(
    name: string,
    kind: SignInKind = "desktop",
    email?: string
  ): Promise<{ readonly userId: UserId; readonly token: string; readonly signInId: string }> {
    return this.act(
      Effect.gen(function* () {
        const users = yield* Users
        const signIns = yield* SignInStore
        const { id } = yield* users.admit({ issuer: "https://issuer.example", subject: name, name, email })
        return yield* signIns.issue(id, kind)
      })
    )
  }

  close(): Promise<void> {
    return this.runtime.dispose()
  }
}
