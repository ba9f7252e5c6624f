/**
 * Who may have work done where, after any sequence of changes of members, shares, links and devices: a real Hub compared with a model of a
 * few lines. Also of a task that was accepted before the changes and is started after them.
 */
import { ProjectRole } from "@corral/domain/project/Project"
import { roleRefusal } from "@corral/domain/access/Authorization"
import type { DeviceId, ProjectId, TaskId, UserId } from "@corral/domain/identity/Ids"
import type { Task } from "@corral/domain/task/Task"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { effort } from "@corral/testing/time/Effort"
import { Tasks } from "../../src/task/Tasks.ts"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { registerDevice, reportOffer } from "@corral/testing/hub/Offers"

const PEOPLE = 3
const PROJECTS = 2

/** Of each project a root owner besides, who makes the changes. */
type Change =
  | {
      readonly kind: "role"
      readonly person: number
      readonly project: number
      readonly role: ProjectRole | "none"
    }
  | { readonly kind: "share"; readonly device: number; readonly projects: ReadonlyArray<number> }
  | { readonly kind: "link"; readonly device: number; readonly project: number; readonly linked: boolean }
  | { readonly kind: "revoke"; readonly device: number }

const person = fc.nat(PEOPLE - 1)
const project = fc.nat(PROJECTS - 1)
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("role" as const),
      person,
      project,
      role: fc.constantFrom("none" as const, ...ProjectRole.literals)
    })
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("share" as const),
      device: person,
      projects: fc.subarray(Array.from({ length: PROJECTS }, (_, i) => i))
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("link" as const),
      device: person,
      project,
      linked: fc.boolean()
    })
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("revoke" as const), device: person }) }
)

const may = (action: "device.manage" | "task.create", role: ProjectRole | undefined): boolean =>
  roleRefusal(action, role) === undefined

/** Device i belongs to person i. */
class Model {
  readonly roles = new Map<string, ProjectRole>()
  readonly shares = new Set<string>()
  readonly links = new Set<string>()
  readonly revoked = new Set<number>()

  roleOf(who: number, where: number): ProjectRole | undefined {
    return this.roles.get(`${who} ${where}`)
  }

  apply(of: Change): void {
    if (of.kind === "revoke") this.revoked.add(of.device)
    if (of.kind === "link") {
      const key = `${of.device} ${of.project}`
      if (of.linked) this.links.add(key)
      else this.links.delete(key)
    }
    if (of.kind === "share" && !this.revoked.has(of.device))
      for (let where = 0; where < PROJECTS; where++) {
        const key = `${of.device} ${where}`
        if (!of.projects.includes(where)) this.shares.delete(key)
      }
    if (of.kind === "share" && !this.revoked.has(of.device)) {
      const added = of.projects.filter((where) => !this.shares.has(`${of.device} ${where}`))
      // All or nothing: the request is refused for one project that is not the owner's to share with.
      if (added.every((where) => may("device.manage", this.roleOf(of.device, where))))
        for (const where of added) this.shares.add(`${of.device} ${where}`)
    }
    if (of.kind === "role") {
      if (of.role === "none") this.roles.delete(`${of.person} ${of.project}`)
      else this.roles.set(`${of.person} ${of.project}`, of.role)
      if (!may("device.manage", this.roleOf(of.person, of.project)))
        this.shares.delete(`${of.person} ${of.project}`)
    }
  }

  /** Why a task is refused; undefined where it is not. */
  refusal(who: number, device: number, where: number): string | undefined {
    if (!may("task.create", this.roleOf(who, where))) return "permission_denied"
    const isOwn = who === device
    if (this.revoked.has(device) || !(isOwn || this.shares.has(`${device} ${where}`)))
      return "unauthorized_target"
    return isOwn || this.links.has(`${device} ${where}`) ? undefined : "workspace_outside_allowlist"
  }
}

describe("Routing authority", () => {
  const hub = new HubInProcess()
  let root: HubClient
  beforeAll(async () => {
    await hub.start()
    root = await hub.signedIn("root")
  })
  afterAll(() => hub.remove())

  let worlds = 0
  const makeWorld = async () => {
    const world = worlds++
    const people = await Promise.all(
      Array.from({ length: PEOPLE }, (_, i) => hub.signedIn(`person ${world} ${i}`))
    )
    const projects: Array<ProjectId> = []
    for (let i = 0; i < PROJECTS; i++) {
      const created = await root.ask<{ readonly id: ProjectId }>("POST", "/client/projects", {
        body: { name: "P" }
      })
      projects.push(created.body.id)
    }
    const devices: Array<DeviceId> = []
    for (const owner of people) {
      const { id } = await registerDevice(owner)
      await reportOffer(hub, id, { online: false })
      devices.push(id)
    }
    return { people, projects, devices }
  }
  type World = Awaited<ReturnType<typeof makeWorld>>

  const at = <A>(list: ReadonlyArray<A>, index: number): A => {
    const found = list[index]
    if (found === undefined) throw new Error(`there is no ${index}`)
    return found
  }

  const perform = async ({ devices, people, projects }: World, model: Model, of: Change): Promise<void> => {
    if (of.kind === "role") {
      const { userId } = at(people, of.person)
      const members = `/client/projects/${at(projects, of.project)}/members`
      const held = model.roleOf(of.person, of.project)
      if (of.role === "none") await root.ask("DELETE", `${members}/${userId}`)
      else if (held === undefined) await root.ask("POST", members, { body: { userId, role: of.role } })
      else await root.ask("PATCH", `${members}/${userId}`, { body: { role: of.role } })
      return
    }
    const owner = at(people, of.device)
    const id = at(devices, of.device)
    if (of.kind === "revoke")
      await owner.ask("PATCH", `/client/devices/${id}`, { body: { state: "revoked" } })
    else if (of.kind === "link") {
      // The user who added the link does not matter, so the test writes the row.
      const where = at(projects, of.project)
      await hub.people.act(
        Effect.flatMap(SqlClient.SqlClient, (sql) =>
          of.linked
            ? sql`INSERT INTO workspace_links (project_id, target_id, workspace, added_by, added_at)
                VALUES (${where}, ${id}, 'site', ${root.userId}, now()) ON CONFLICT DO NOTHING`
            : sql`DELETE FROM workspace_links WHERE project_id = ${where} AND target_id = ${id}`
        )
      )
    } else {
      const patch = (list: ReadonlyArray<number>) =>
        owner.ask("PATCH", `/client/devices/${id}`, {
          body: { sharedWith: list.map((i) => at(projects, i)) }
        })
      // Removals first: a refused addition changes nothing.
      await patch(of.projects.filter((where) => model.shares.has(`${of.device} ${where}`)))
      await patch(of.projects)
    }
  }

  const taskOf = (world: World, device: number, where: number, onOffline: "fail" | "queue") => ({
    projectId: at(world.projects, where),
    targetId: at(world.devices, device),
    workspace: "site",
    agentId: "scripted",
    mode: "ask",
    input: { text: "Hello" },
    onOffline
  })

  const assertAll = async (world: World, model: Model): Promise<void> => {
    for (let who = 0; who < PEOPLE; who++)
      for (let device = 0; device < PEOPLE; device++)
        for (let where = 0; where < PROJECTS; where++) {
          const answer = await at(world.people, who).ask("POST", "/web/agent-tasks", {
            body: taskOf(world, device, where, "fail")
          })
          // The device is offline: `target_offline` means that authorization passed.
          const expected = model.refusal(who, device, where) ?? "target_offline"
          assert.strictEqual(codeOf(answer), expected, `${who} at ${device} in ${where}: ${answer.text}`)
        }
    for (let who = 0; who < PEOPLE; who++) {
      const listed = await at(world.people, who).ask<{
        readonly items: ReadonlyArray<{ readonly id: DeviceId }>
      }>("GET", "/client/targets?limit=200")
      const expected = world.devices.filter(
        (_, device) =>
          !model.revoked.has(device) &&
          (who === device ||
            world.projects.some(
              (__, where) =>
                model.shares.has(`${device} ${where}`) && may("task.create", model.roleOf(who, where))
            ))
      )
      assert.sameMembers(
        listed.body.items.map(({ id }) => id),
        expected
      )
    }
  }

  /** Tasks that wait for their device, each started or refused as the model says now. */
  const assertWaiting = async (
    world: World,
    model: Model,
    waiting: ReadonlyMap<TaskId, readonly [number, number, number]>
  ): Promise<void> => {
    for (const [device, id] of world.devices.entries()) {
      const started = await hub.people.act(
        Effect.gen(function* () {
          const tasks = yield* Tasks
          const found: Array<TaskId> = []
          for (
            let task = yield* tasks.claim(id, undefined);
            task !== undefined;
            task = yield* tasks.claim(id, task.id)
          )
            found.push(task.id)
          return found
        })
      )
      const expected = [...waiting]
        .filter(
          ([, [who, target, where]]) => target === device && model.refusal(who, target, where) === undefined
        )
        .map(([task]) => task)
      assert.deepStrictEqual(started.toSorted(), expected.toSorted())
    }
  }

  it("follows members, shares, links and devices as they are now", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(change, { minLength: 6, maxLength: 14 }),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        async (before, after) => {
          const [world, model] = [await makeWorld(), new Model()]
          for (const of of before) {
            await perform(world, model, of)
            model.apply(of)
          }
          await assertAll(world, model)
          const waiting = new Map<TaskId, readonly [number, number, number]>()
          for (let who = 0; who < PEOPLE; who++)
            for (let device = 0; device < PEOPLE; device++)
              for (let where = 0; where < PROJECTS; where++) {
                if (model.refusal(who, device, where) !== undefined) continue
                const created = await at(world.people, who).ask<Task>("POST", "/web/agent-tasks", {
                  body: taskOf(world, device, where, "queue")
                })
                assert.strictEqual(created.status, 201, created.text)
                waiting.set(created.body.id, [who, device, where])
              }
          for (const of of after) {
            await perform(world, model, of)
            model.apply(of)
          }
          await assertAll(world, model)
          await assertWaiting(world, model, waiting)
        }
      ),
      { numRuns: 5 * effort }
    ))

  it("counts a stored share only while its owner may manage devices in the project", async () => {
    const [owner, member] = [await hub.signedIn("lender"), await hub.signedIn("borrower")]
    const { userId } = owner
    const created = await root.ask<{ readonly id: ProjectId }>("POST", "/client/projects", {
      body: { name: "P" }
    })
    const members = `/client/projects/${created.body.id}/members`
    const join = (who: UserId | undefined, role: ProjectRole) =>
      root.ask("POST", members, { body: { userId: who, role } })
    await join(userId, "admin")
    await join(member.userId, "member")
    const device = await registerDevice(owner, { sharedWith: [created.body.id] })
    const seen = async () => (await member.ask("GET", `/client/devices/${device.id}`)).status
    assert.strictEqual(await seen(), 200)
    await hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`UPDATE project_members SET role = 'member' WHERE user_id = ${userId}`
      )
    )
    assert.strictEqual(await seen(), 403)
  })
})
