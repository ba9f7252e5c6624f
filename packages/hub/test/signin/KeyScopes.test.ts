/** What an API key may call: each endpoint that needs a sign-in, with a key of each scope. */
import type { ApiKeyScope } from "@corral/domain/identity/ApiKey"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { SessionAuthority } from "@corral/domain/hub-api/SessionAuthority"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpApi } from "effect/http-api"
import { ApiKeyStore } from "../../src/signin/ApiKeyStore.ts"

/** Open to keys with that scope. All others are closed to keys. */
const open: Readonly<Record<ApiKeyScope, string>> = {
  read: `approvals.get approvals.list audit.export audit.list audit.verify auth.me changeSets.file changeSets.get
    changeSets.list changeSets.ofSession chatBindings.list conversations.export devices.get
    devices.list devices.targets files.file files.find files.folder inputs.get inputs.list news.follow projects.get projects.list
    projects.members projects.workspaces runs.approvals runs.artifactContent runs.artifacts runs.diff runs.events runs.get runs.list
    search.find sessions.agents sessions.get sessions.inventory sessions.list sessions.message sessions.messages
    taskGroups.comparison taskGroups.get tasks.get tasks.list uploads.content usage.csv usage.limits usage.report`,
  write: `conversations.fork conversations.read projects.create projects.linkWorkspace projects.remove projects.unlinkWorkspace
    projects.update runs.cancel runs.input runs.openPreview runs.pause runs.resume sessions.addAgent sessions.addMessage
    sessions.continueAgent sessions.create sessions.removeAgent sessions.retryMessage sessions.update sessions.updateAgent
    sessions.updateMessage sessions.withdrawMessage taskGroups.pause taskGroups.resume taskGroups.stop tasks.cancel tasks.create
    uploads.create`
}
const scopes = ["read", "write"] as const
const scopeOf = (name: string): ApiKeyScope | undefined =>
  scopes.find((scope) => open[scope].split(/\s+/).includes(name))

interface Endpoint {
  readonly name: string
  readonly method: string
  readonly path: string
}

const endpoints: Array<Endpoint> = []
HttpApi.reflect(HubApi, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint: { identifier, method, path }, group, middleware }) => {
    if ([...middleware].some(({ key }) => key === SessionAuthority.key))
      endpoints.push({ name: `${group.identifier}.${identifier}`, method, path })
  }
})

describe("A key", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  it("may call only endpoints that exist", () => {
    const names = new Set(endpoints.map(({ name }) => name))
    for (const scope of scopes)
      assert.deepStrictEqual(
        open[scope].split(/\s+/).filter((name) => !names.has(name)),
        []
      )
  })

  it.each([["read"], ["write"], ["read", "write"]] as ReadonlyArray<ReadonlyArray<ApiKeyScope>>)(
    "may call what its scopes allow: %s",
    async (...held) => {
      const { userId } = await hub.people.signIn("ada")
      const wanted = { name: "ci", scopes: [held[0] ?? "read", ...held.slice(1)], expiresInDays: 1 } as const
      const { token } = await hub.people.act(
        Effect.flatMap(ApiKeyStore, (keys) => keys.create(userId, wanted))
      )
      for (const { method, name, path } of endpoints) {
        const target = path.replaceAll(/:\w+/g, "none")
        const response = await fetch(hub.url + target, {
          method,
          headers: { authorization: `Bearer ${token}` }
        })
        const isStream = response.headers.get("content-type") === "text/event-stream"
        const text = isStream ? "" : await response.text()
        if (isStream) await response.body?.cancel()
        const scope = scopeOf(name)
        const isOpen = scope !== undefined && held.includes(scope)
        assert.strictEqual(!text.includes("The scopes of this key"), isOpen, `${name} ${text}`)
      }
    }
  )
})
