/** Presets over the whole chain: what the device takes from its owner's browser, and that the next task uses it. */
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { Target } from "@corral/domain/device/Device"
import type { Preset } from "@corral/domain/run/Preset"
import { EdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { fileSentence, fileWith, wrongProfiles } from "@corral/testing/edge/WrongPresets"
import type { BrowserClient } from "@corral/testing/hub/Browser"
import { codeOf } from "@corral/testing/hub/HubClient"
import { Joined } from "@corral/testing/stack/Joined"
import { openConfigFile } from "@corral/edge/runtime/ConfigFile"
import { RuntimeRegistry } from "@corral/edge/runtime/RuntimeRegistry"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { writeFileSync } from "node:fs"
import { join } from "node:path"

const careful = {
  id: "careful",
  kind: "profile",
  settings: { label: "Careful", adapter: "scripted", mode: "ask" }
}

describe("presets over the whole chain", () => {
  let joined: Joined
  let owner: BrowserClient
  let path = ""
  beforeAll(async () => {
    joined = await Joined.open({ makeEdge: (options) => new EdgeInProcess(options) })
    owner = await joined.hub.atBrowser("owner")
    path = `/client/devices/${joined.deviceId}/presets`
  })
  afterAll(() => joined.remove())

  const presetsAtEdge = async (): Promise<ReadonlyArray<Preset>> =>
    ((await joined.edge.client.ask("GET", "/v1/presets")).body as { readonly items: ReadonlyArray<Preset> })
      .items

  const trail = async (): Promise<ReadonlyArray<string>> => {
    const { body } = await owner.ask<{ readonly items: ReadonlyArray<AuditRecord> }>(
      "GET",
      "/client/audit?action=device.presets&limit=100"
    )
    return body.items.map(({ code, outcome }) => `${outcome} ${code}`)
  }

  it("refuses command lines, variables and grants, and records each refusal", async () => {
    const wide = [
      {
        id: "shell",
        kind: "runner",
        settings: { label: "x", runtime: "text", command: ["sh", "-c", "{prompt}"] }
      },
      ...[
        { program: "/bin/sh" },
        { env: ["SECRET"] },
        { grants: ["full_access"] },
        { mode: "full_access" }
      ].map((more) => ({ ...careful, settings: { ...careful.settings, ...more } }))
    ]
    for (const body of wide) {
      const answer = await owner.ask("POST", path, { body })
      assert.deepStrictEqual([answer.status, codeOf(answer)], [403, "permission_denied"], answer.text)
      assert.include(answer.text, "From a Hub, only profiles")
    }
    assert.deepStrictEqual(
      await trail(),
      wide.map(() => "denied permission_denied")
    )
    assert.deepStrictEqual(await presetsAtEdge(), [])
  })

  it("gives wrong profiles the sentence of the configuration file", async () => {
    const file = join(joined.edge.folder, "wrong.json")
    for (const wrong of fc.sample(wrongProfiles, { numRuns: 20, seed: 9 })) {
      const answer = await owner.ask<{
        readonly code: string
        readonly details: {
          readonly issues: ReadonlyArray<{ readonly path: string; readonly message: string }>
        }
      }>("POST", path, { body: wrong })
      // A field that does not exist may be one that does more.
      if (answer.body.code === "permission_denied") continue
      writeFileSync(file, JSON.stringify(fileWith(wrong)), { mode: 0o600 })
      const { message } = await Effect.runPromise(
        Effect.gen(function* () {
          return yield* Effect.flip(openConfigFile(file, yield* RuntimeRegistry))
        }).pipe(Effect.scoped)
      )
      const sentence = fileSentence(wrong, answer.body.details.issues)
      assert.strictEqual(`${file} is not usable: ${sentence}`, message, JSON.stringify(wrong))
    }
  })

  it("offers a new profile to the next task, and no other user changes it", async () => {
    const created = await owner.ask("POST", path, { body: careful })
    assert.strictEqual(created.status, 201, created.text)
    const member = await joined.hub.atBrowser("member")
    await joined.owner.ask("POST", `/client/projects/${joined.projectId}/members`, {
      body: { userId: member.userId, role: "admin" }
    })
    assert.strictEqual(codeOf(await member.ask("DELETE", `${path}/careful`)), "permission_denied")
    assert.deepStrictEqual(
      (await presetsAtEdge()).map(({ id }) => id),
      ["careful"]
    )
    // Sooner than the next heartbeat.
    await until(
      async () => {
        const { body } = await owner.ask<{ readonly items: ReadonlyArray<Target> }>("GET", "/client/targets")
        return body.items.some(({ agents }) => agents.some(({ id }) => id === "careful")) ? true : undefined
      },
      "the profile among the agents of the target",
      5_000
    )
    const { runId } = await joined.task({ text: "/say Hello", agentId: "careful" })
    await joined.runWith(runId, ({ state }) => state === "completed")
    const removed = await owner.ask("DELETE", `${path}/careful`)
    assert.strictEqual(removed.status, 204, removed.text)
  })

  it("takes any preset where the device's configuration file allows it", async () => {
    const parrot = {
      id: "parrot",
      kind: "runner",
      settings: { label: "P", runtime: "text", command: ["cat"], stdin: "prompt" }
    }
    writeFileSync(join(joined.edge.home, "edge.config.json"), '{ "remotePresets": true }', { mode: 0o600 })
    const created = await owner.ask("POST", path, { body: parrot })
    assert.strictEqual(created.status, 201, created.text)
    assert.deepStrictEqual(
      (await presetsAtEdge()).map(({ id }) => id),
      ["parrot"]
    )
  })
})
