/**
 * Search next to a model: after any changes of projects, members, visibility and texts, each user finds exactly the texts of the projects that
 * this user may read; before they are indexed, no others.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { SearchResult } from "@corral/domain/search/SearchResult"
import { Effect, Schema } from "effect"
import type { HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { createRun, Mirror } from "@corral/testing/hub/Mirror"
import { makeProject, makeSession } from "@corral/testing/hub/People"
import { tries } from "@corral/testing/time/Effort"
import { indexAll } from "../harness/Indexed.ts"
import { walk } from "../harness/Pages.ts"

const USERS = 3
const number = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))
const Step = Schema.Struct({
  what: Schema.Literals([
    "project",
    "member",
    "leave",
    "visibility",
    "session",
    "message",
    "run",
    "rename",
    "delete"
  ]),
  project: number,
  user: number,
  text: number
})
const Steps = Schema.Array(Step).check(Schema.isMinLength(5), Schema.isMaxLength(40))

interface ModelProject {
  readonly id: Awaited<ReturnType<typeof makeProject>>["id"]
  readonly owner: number
  internal: boolean
  readonly members: Set<number>
  readonly sessions: Array<{ readonly id: string; title: string }>
  /** Texts by kind, without the titles. */
  readonly texts: Array<string>
}

const vocabulary = ["索引 shared", "shared ui", "shared 🚀", "shared", "SHARED naïve", "shared%_"]

describe("Search", () => {
  const hub = new HubInProcess()
  const users: Array<HubClient> = []
  let mirror: Mirror

  beforeAll(async () => {
    await hub.start()
    for (let i = 0; i < USERS; i++) users.push(await hub.signedIn(`user ${i}`))
    mirror = new Mirror(hub)
  })
  afterAll(() => hub.remove())

  const clientOf = (index: number): HubClient => {
    const client = users[index % USERS]
    if (client === undefined) throw new Error("no such user")
    return client
  }
  const send = async (
    client: HubClient,
    method: "DELETE" | "PATCH" | "POST",
    path: string,
    body?: object
  ) => {
    const answer = await client.ask(method, `/client/${path}`, { body })
    assert.isBelow(answer.status, 300, answer.text)
  }

  const change = async (
    projects: Array<ModelProject>,
    { project: p, text: t, user, what }: typeof Step.Type
  ) => {
    const text = `${vocabulary[t]}`
    if (what === "project" || projects.length === 0) {
      const { id } = await makeProject(clientOf(user), t % 2 === 0 ? "private" : "internal")
      projects.push({
        id,
        owner: user % USERS,
        internal: t % 2 === 1,
        members: new Set(),
        sessions: [],
        texts: []
      })
      return
    }
    const project = projects[p % projects.length]
    if (project === undefined) return
    const owner = clientOf(project.owner)
    const { userId } = clientOf(user)
    const path = `projects/${project.id}`
    const session = project.sessions[t % (project.sessions.length || 1)]
    if (what === "visibility") {
      project.internal = !project.internal
      await send(owner, "PATCH", path, { visibility: project.internal ? "internal" : "private" })
    } else if (what === "member" && user % USERS !== project.owner && !project.members.has(user % USERS)) {
      project.members.add(user % USERS)
      await send(owner, "POST", `${path}/members`, { userId, role: "viewer" })
    } else if (what === "leave" && project.members.delete(user % USERS)) {
      await send(owner, "DELETE", `${path}/members/${userId}`)
    } else if (what === "session") {
      const { id } = await makeSession(owner, project, text)
      project.sessions.push({ id, title: text })
    } else if (what === "rename" && session !== undefined) {
      session.title = text
      await send(owner, "PATCH", `sessions/${session.id}`, { title: text })
    } else if (what === "message" && session !== undefined) {
      project.texts.push(text)
      await send(owner, "POST", `sessions/${session.id}/messages`, { text })
    } else if (what === "run") {
      project.texts.push(text)
      await mirror.open(project.id, { ...createRun, input: { text } })
    } else if (what === "delete") {
      // A run in progress keeps its project.
      const answer = await owner.ask("DELETE", `/client/${path}`)
      assert.include([204, 409], answer.status)
      if (answer.status === 204) projects.splice(projects.indexOf(project), 1)
    }
  }

  const expectedFor = (projects: ReadonlyArray<ModelProject>, user: number) =>
    projects
      .filter(({ internal, members, owner }) => internal || owner === user || members.has(user))
      .flatMap(({ id, sessions, texts }) =>
        [...sessions.map(({ title }) => title), ...texts].map((text) => `${id} ${text}`)
      )
      .sort()

  const foundBy = async (user: number): Promise<ReadonlyArray<SearchResult>> =>
    walk<SearchResult>(clientOf(user), "/client/search?q=Shared", 7)

  it.effect.prop(
    "finds exactly what its caller may read",
    [Steps],
    ([steps]) =>
      Effect.promise(async () => {
        const projects: Array<ModelProject> = []
        for (const step of steps) await change(projects, step)
        const mine = new Set<string>(projects.map(({ id }) => id))
        for (let user = 0; user < USERS; user++) {
          const readable = new Set(expectedFor(projects, user).map((text) => text.slice(0, 30)))
          for (const { projectId } of await foundBy(user))
            if (mine.has(projectId)) assert.include([...readable], projectId)
        }
        await indexAll(hub)
        for (let user = 0; user < USERS; user++) {
          const found = (await foundBy(user)).filter(({ projectId }) => mine.has(projectId))
          assert.deepStrictEqual(
            found.map(({ excerpt, projectId }) => `${projectId} ${excerpt}`).sort(),
            expectedFor(projects, user)
          )
        }
      }),
    tries(6)
  )
})
