/** Projects and sessions of a running Hub, with their members. */
import { assert } from "@effect/vitest"
import type { Project, ProjectRole, ProjectVisibility } from "@corral/domain/project/Project"
import type { Session } from "@corral/domain/session/Session"
import type { HubClient } from "./HubClient.ts"

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
