/**
 * Users of a running Hub, with their projects and sessions. Users are created in its store by its own services instead of a sign-in at an identity
 * provider. For tests of other features.
 */
import type { HubClient } from "./HubClient.ts"
import type { UserId } from "@corral/domain/identity/Ids"
import type { SignInKind } from "@corral/domain/identity/User"
import type { Project, ProjectRole, ProjectVisibility } from "@corral/domain/project/Project"
import type { Session } from "@corral/domain/session/Session"
import { HubConfig, hubDefaults } from "@corral/hub/config/HubConfig"
import { hubCoreLayer } from "@corral/hub/Hub"
import { SignInStore } from "@corral/hub/signin/SignInStore"
import { Users } from "@corral/hub/signin/Users"
import { assert } from "@effect/vitest"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"

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

/** A project of a running Hub, with its members. */
export const makeProject = async (
  owner: HubClient,
  visibility: ProjectVisibility = "private",
  members: ReadonlyArray<readonly [HubClient, ProjectRole]> = []
): Promise<Project> => {
  const created = await owner.ask<Project>("POST", "/client/projects", {
    body: { name: "Atlas", visibility }
  })
  assert.strictEqual(created.status, 201, created.text)
  for (const [{ userId }, role] of members) {
    const added = await owner.ask("POST", `/client/projects/${created.body.id}/members`, {
      body: { userId, role }
    })
    assert.strictEqual(added.status, 201, added.text)
  }
  return created.body
}

export const makeSession = async (
  member: HubClient,
  { id }: Pick<Project, "id">,
  title = "Release"
): Promise<Session> => {
  const created = await member.ask<Session>("POST", "/client/sessions", { body: { projectId: id, title } })
  assert.strictEqual(created.status, 201, created.text)
  return created.body
}
