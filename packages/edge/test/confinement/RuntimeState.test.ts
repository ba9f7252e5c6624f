import { assert, describe, it } from "@effect/vitest"
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { resolveState } from "../../src/confinement/RuntimeState.ts"
import { openFolder } from "../Folder.ts"

const executed = ["settings.json", "hooks/"]
const folders = { state: [{ path: ".agent", variable: "AGENT_HOME", executed }] }

describe("resolveState", () => {
  it("creates missing folders, and protects what exists", () => {
    const home = openFolder()
    const agent = join(home, ".agent")
    assert.deepStrictEqual(resolveState(folders, {}, home, "/edge"), [
      { path: agent, executed: [join(agent, "hooks")] }
    ])
    assert.isTrue(existsSync(join(agent, "hooks")))
    writeFileSync(join(agent, "settings.json"), "{}")
    const [state] = resolveState(folders, {}, home, "/edge")
    assert.deepStrictEqual(state?.executed, [join(agent, "settings.json"), join(agent, "hooks")])
  })

  it("uses the folder that the run's variable names", () => {
    const [home, other] = [openFolder(), openFolder()]
    assert.strictEqual(resolveState(folders, { AGENT_HOME: other }, home, "/edge")[0]?.path, other)
    assert.strictEqual(
      resolveState(folders, { AGENT_HOME: "relative" }, home, "/edge")[0]?.path,
      join(home, ".agent")
    )
  })

  it("never mounts the home or the Edge's files as state", () => {
    const home = openFolder()
    assert.deepStrictEqual(resolveState(folders, { AGENT_HOME: home }, home, "/edge"), [])
    assert.deepStrictEqual(resolveState(folders, { AGENT_HOME: "/" }, home, "/edge"), [])
    assert.deepStrictEqual(resolveState(folders, { AGENT_HOME: home }, "/nowhere", join(home, "edge")), [])
  })

  it("does not follow links in the state", () => {
    const home = openFolder()
    const agent = join(home, ".agent")
    mkdirSync(agent)
    symlinkSync("/etc", join(agent, "hooks"))
    symlinkSync("/etc/passwd", join(agent, "settings.json"))
    assert.deepStrictEqual(resolveState(folders, {}, home, "/edge"), [{ path: agent, executed: [] }])
  })

  it("has a file only if it exists, and nothing for an adapter without folders", () => {
    const home = openFolder()
    const file = { state: [{ path: ".agent.json", kind: "file" as const }] }
    assert.deepStrictEqual(resolveState(file, {}, home, "/edge"), [])
    writeFileSync(join(home, ".agent.json"), "{}")
    assert.deepStrictEqual(resolveState(file, {}, home, "/edge"), [
      { path: join(home, ".agent.json"), executed: [] }
    ])
    assert.deepStrictEqual(resolveState(undefined, {}, home, "/edge"), [])
  })
})
