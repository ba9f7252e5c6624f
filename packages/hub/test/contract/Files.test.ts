import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { DeviceId, ProjectId } from "@corral/domain/identity/Ids"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { newId } from "@corral/testing/hub/Mirror"
import { registerDevice, reportOffer } from "@corral/testing/hub/Offers"
import { makeProject } from "@corral/testing/hub/People"

describe("/client/targets/{id}/workspaces/{workspace}", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let mia: HubClient
  let vera: HubClient
  let project: ProjectId
  let target: DeviceId
  beforeAll(async () => {
    await hub.start()
    ada = await hub.signedIn("ada")
    mia = await hub.signedIn("mia")
    vera = await hub.signedIn("vera")
    project = (
      await makeProject(ada, "private", [
        [mia, "member"],
        [vera, "viewer"]
      ])
    ).id
    target = (await registerDevice(ada, { sharedWith: [project] })).id
    await reportOffer(hub, target, { workspaces: ["site", "docs"], online: false })
    const linked = await ada.ask("POST", `/client/projects/${project}/workspaces`, {
      body: { targetId: target, workspace: "site" }
    })
    assert.strictEqual(linked.status, 201, linked.text)
  })
  afterAll(() => hub.remove())

  const paths = (of: DeviceId, workspace: string, projectId: ProjectId) => [
    `/client/targets/${of}/workspaces/${workspace}/files?projectId=${projectId}`,
    `/client/targets/${of}/workspaces/${workspace}/file?projectId=${projectId}&path=README.md`
  ]
  const assertCode = async (client: HubClient, requests: ReadonlyArray<string>, code: string) => {
    for (const path of requests) assert.strictEqual(codeOf(await client.ask("GET", path)), code, path)
  }

  it("reads linked workspaces from the Edge for members", async () => {
    for (const client of [ada, mia])
      await assertCode(client, paths(target, "site", project), "target_offline")
  })

  it("refuses callers who are not members, also for missing projects", async () => {
    const eve = await hub.signedIn("eve")
    await assertCode(vera, paths(target, "site", project), "permission_denied")
    await assertCode(eve, paths(target, "site", project), "permission_denied")
    await assertCode(ada, paths(target, "site", newId("prj")), "permission_denied")
  })

  it("refuses targets that are not shared with the project, also missing ones", async () => {
    const other = await makeProject(mia)
    await assertCode(mia, paths(target, "site", other.id), "unauthorized_target")
    await assertCode(mia, paths(newId("dev"), "site", project), "unauthorized_target")
  })

  it("refuses workspaces that are not linked to the project, also on own targets", async () => {
    for (const client of [ada, mia])
      for (const workspace of ["docs", "nowhere", "..%2Fsite", "a'%20OR%201=1"])
        await assertCode(client, paths(target, workspace, project), "workspace_outside_allowlist")
    const ownProject = await makeProject(ada)
    await assertCode(ada, paths(target, "site", ownProject.id), "workspace_outside_allowlist")
  })

  it("rejects invalid requests", async () => {
    const at = `/client/targets/${target}/workspaces/site`
    for (const path of [
      `${at}/files`,
      `${at}/file?projectId=${project}`,
      `${at}/file?projectId=${project}&path=a%00b`,
      `${at}/files?projectId=${project}&path=${"x".repeat(4_097)}`,
      `${at}/files?projectId=${project}&limit=0`,
      `/client/targets/${target}/workspaces/a%00b/files?projectId=${project}`
    ]) {
      const refused = await ada.ask("GET", path)
      assert.deepStrictEqual([refused.status, codeOf(refused)], [422, "schema_validation_failed"], path)
    }
  })
})
