/**
 * People of a running Hub, made in its store by its own services: what a sign-in at an identity provider would come to. For tests that are
 * about something else than signing in.
 */
import type { UserId } from "@corral/domain/identity/Ids"
import type { SignInKind } from "@corral/domain/identity/User"
import { Effect, type Layer, ManagedRuntime, Redacted } from "effect"
import { hubCoreLayer } from "@corral/hub/Hub"
import { hubDefaults } from "@corral/hub/config/HubConfig"
import { SignInStore } from "@corral/hub/signin/SignInStore"
import { Users } from "@corral/hub/signin/Users"

type Core = Layer.Success<ReturnType<typeof hubCoreLayer>>

export class People {
  private readonly runtime: ManagedRuntime.ManagedRuntime<Core, unknown>

  constructor(home: string, databaseUrl: string | undefined) {
    this.runtime = ManagedRuntime.make(
      hubCoreLayer({
        ...hubDefaults,
        home,
        maxConnections: 4,
        databaseUrl: databaseUrl === undefined ? undefined : Redacted.make(databaseUrl)
      })
    )
  }

  /** Runs something on the Hub's own services. */
  act<A, E>(effect: Effect.Effect<A, E, Core>): Promise<A> {
    return this.runtime.runPromise(effect)
  }

  /** A person of that name, new at the first call, and a sign-in of theirs. */
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
