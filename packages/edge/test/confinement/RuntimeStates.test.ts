import { claudeFolders, codexFolders, geminiFolders } from "@corral/adapters/StateFolders"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { existsSync, linkSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { RunId } from "@corral/domain/identity/Ids"
import { StateHome, write } from "./StateHome.ts"

const SESSION = "3f1c2a9e-0b7d-4c58-9a51-5d2f6f3e7a10"
const OTHER = "9d0e4b77-1c2b-4f0a-8f55-2a6c1d9b3e44"

const claude = () => {
  const place = new StateHome(claudeFolders)
  const slug = place.workspace.replaceAll(/[^A-Za-z0-9]/g, "-")
  return { place, conversation: (id: string, name = slug) => `projects/${name}/${id}.jsonl` }
}

const layersOf = ({ edge }: StateHome): ReadonlyArray<string> =>
  existsSync(join(edge, "runtime-state")) ? readdirSync(join(edge, "runtime-state")) : []

/** The start of a conversation of Codex. */
const headOf = (cwd: string): string => `${JSON.stringify({ type: "session_meta", payload: { cwd } })}\n`

describe("RuntimeStates", () => {
  it("shows settings read-only where they are, and copies nothing that no pattern names", async () => {
    const { place } = claude()
    place.write(".claude/settings.json", "{}")
    place.write(".claude/skills/a/SKILL.md", "a")
    place.write(".claude/history.jsonl", "what was typed")
    const { layer, mounts } = await place.open("run_1")
    assert.deepStrictEqual(
      mounts.map(({ kind, path, source }) => [kind, path, source]),
      [
        ["write", place.path(".claude"), layer],
        ["read", place.path(".claude/settings.json"), undefined],
        ["read", place.path(".claude/skills"), undefined]
      ]
    )
    assert.deepStrictEqual(readdirSync(layer), [])
  })

  it("shows the target of a link in the settings, and no home or Edge behind one", async () => {
    const { place } = claude()
    place.write("dotfiles/settings.json", "{}")
    place.write(".claude/x", "")
    symlinkSync(place.path("dotfiles/settings.json"), place.path(".claude/settings.json"))
    symlinkSync(place.home, place.path(".claude/skills"))
    symlinkSync(place.edge, place.path(".claude/agents"))
    symlinkSync("/nowhere", place.path(".claude/hooks"))
    const { layer, mounts } = await place.open("run_1")
    assert.deepStrictEqual(
      mounts.flatMap(({ kind, path }) => (kind === "read" ? [path] : [])),
      [place.path("dotfiles/settings.json")]
    )
    assert.strictEqual(readlinkSync(join(layer, "settings.json")), place.path("dotfiles/settings.json"))
  })

  it("copies the file of all workspaces with the run's own only, and discards what the run changes in it", async () => {
    const { place } = claude()
    const projects = { [place.workspace]: { mine: true }, "/other": { secret: true } }
    const text = JSON.stringify({ mcpServers: { a: { command: "a" } }, projects })
    place.write(".claude.json", text)
    const { end, mounts } = await place.open("run_1")
    const copy = mounts.find(({ path }) => path === place.path(".claude.json"))?.source ?? ""
    assert.deepStrictEqual(JSON.parse(execFileSync("cat", [copy], { encoding: "utf8" })), {
      mcpServers: { a: { command: "a" } },
      projects: { [place.workspace]: { mine: true } }
    })
    writeFileSync(copy, JSON.stringify({ mcpServers: { evil: {} } }))
    await end()
    assert.strictEqual(place.read(".claude.json"), text)
  })

  it("copies its part of a file that is larger than a copy may be", async () => {
    const { place } = claude()
    const projects = { "/other": { text: "x".repeat(12_000_000) }, [place.workspace]: { mine: true } }
    place.write(".claude.json", JSON.stringify({ projects, theme: "dark" }))
    const { end, mounts } = await place.open("run_1")
    const copy = mounts.find(({ path }) => path === place.path(".claude.json"))?.source ?? ""
    assert.deepStrictEqual(JSON.parse(execFileSync("cat", [copy], { encoding: "utf8" })), {
      projects: { [place.workspace]: { mine: true } },
      theme: "dark"
    })
    await end()
  })

  it("receives only the conversation that the run continues, and takes back what it adds", async () => {
    const { conversation, place } = claude()
    const [mine, other] = [`.claude/${conversation(SESSION)}`, `.claude/${conversation(OTHER)}`]
    place.write(mine, "1\n")
    place.write(other, "other\n")
    place.write(`.claude/${conversation(OTHER, "-other")}`, "of another workspace\n")
    const { end, layer } = await place.open("run_1", { session: SESSION })
    assert.deepStrictEqual(readdirSync(join(layer, "projects")), [conversation(SESSION).split("/")[1]])
    assert.isFalse(existsSync(join(layer, conversation(OTHER))))
    write(join(layer, conversation(SESSION)), "1\n2\n")
    await end()
    assert.strictEqual(place.read(mine), "1\n2\n")
    assert.strictEqual(place.read(other), "other\n")
    assert.deepStrictEqual(layersOf(place), [])
  })

  it("takes back new conversations of the workspace, as regular files of one name", async () => {
    const { conversation, place } = claude()
    place.write(".ssh/key", "secret")
    const { end, layer } = await place.open("run_1")
    const id = (digit: number) => `0000000${digit}-0b7d-4c58-9a51-5d2f6f3e7a10`
    write(join(layer, conversation(id(1))), "new\n")
    write(join(layer, conversation(id(1)).replace(".jsonl", "/subagents/agent-1.jsonl")), "child\n")
    write(join(layer, `tasks/${id(1)}/1.json`), "{}")
    symlinkSync(place.path(".ssh/key"), join(layer, conversation(id(2))))
    write(join(layer, conversation(id(3))), "linked\n")
    linkSync(join(layer, conversation(id(3))), join(layer, "second"))
    execFileSync("mkfifo", [join(layer, conversation(id(4)))])
    write(join(layer, conversation(id(5), "-other")), "of another workspace\n")
    write(join(layer, `tasks/${id(6)}/1.json`), "of another conversation")
    write(join(layer, conversation(id(1)).replace(".jsonl", "/memory/MEMORY.md")), "obey")
    write(join(layer, conversation("memory").replace(".jsonl", "/MEMORY.md")), "obey")
    write(join(layer, "settings.json"), "{}")
    const before = place.contents()
    await end()
    const earlier = new Set(before)
    const slug = conversation(id(1)).split("/")[1] ?? ""
    assert.deepStrictEqual(
      place
        .contents()
        .filter((line) => !earlier.has(line) && !/\/ \d+$/.test(line))
        .map((line) => line.replace(/ .*/, "")),
      [
        `/.claude/projects/${slug}/${id(1)}/subagents/agent-1.jsonl`,
        `/.claude/projects/${slug}/${id(1)}.jsonl`,
        `/.claude/tasks/${id(1)}/1.json`
      ]
    )
  })

  it("leaves a conversation that the user continued meanwhile, and keeps the run's", async () => {
    const { conversation, place } = claude()
    const mine = `.claude/${conversation(SESSION)}`
    place.write(mine, "1\n")
    const { end, layer } = await place.open("run_1", { session: SESSION })
    write(join(layer, conversation(SESSION)), "1\nthe run's\n")
    place.write(mine, "1\nthe user's\n")
    await end()
    assert.strictEqual(place.read(mine), "1\nthe user's\n")
    assert.deepStrictEqual(layersOf(place), ["run_1"])
    assert.strictEqual((await place.states()).unreturned(), 1)
    // The user puts it away: the next Edge can take it back.
    rmSync(place.path(mine))
    await place.restart()
    await Effect.runPromise((await place.states()).recover(new Set()))
    assert.strictEqual(place.read(mine), "1\nthe run's\n")
    assert.deepStrictEqual(layersOf(place), [])
  })

  it("never replaces another conversation of the user", async () => {
    const { conversation, place } = claude()
    place.write(`.claude/${conversation(OTHER)}`, "other\n")
    const { end, layer } = await place.open("run_1")
    write(join(layer, conversation(OTHER)), "other\nforged\n")
    await end()
    assert.strictEqual(place.read(`.claude/${conversation(OTHER)}`), "other\n")
    assert.deepStrictEqual(layersOf(place), [])
  })

  it("is taken back by the next Edge, once, if the Edge ends before, and left for a run that continues", async () => {
    const { conversation, place } = claude()
    const { end, layer } = await place.open("run_1", { life: { isAdopted: false, isLeft: () => true } })
    write(join(layer, conversation(SESSION)), "1\n")
    await end()
    assert.isUndefined(place.read(`.claude/${conversation(SESSION)}`))
    await place.restart()
    const states = await place.states()
    const over = await place.adopt("run_1")
    await Effect.runPromise(states.recover(new Set(["run_1"])))
    assert.deepStrictEqual(layersOf(place), ["run_1"])
    await over()
    assert.strictEqual(place.read(`.claude/${conversation(SESSION)}`), "1\n")
    await Effect.runPromise(states.recover(new Set()))
    assert.deepStrictEqual(layersOf(place), [])
  })

  it("keeps a state whose record is damaged", async () => {
    const { place } = claude()
    await place.open("run_1")
    writeFileSync(join(place.edge, "runtime-state", "run_1", "layer.json"), "{")
    await place.restart()
    const states = await place.states()
    await Effect.runPromise(states.recover(new Set()))
    assert.strictEqual(states.unreturned(), 1)
    assert.deepStrictEqual(layersOf(place), ["run_1"])
  })

  it("waits for the run before, whose conversation the next one continues", async () => {
    const { conversation, place } = claude()
    const first = await place.open("run_1")
    write(join(first.layer, conversation(SESSION)), "1\n")
    const opening = place.open("run_2", { session: SESSION, resume: "run_1" as RunId })
    const isOpen = await Promise.race([
      opening.then(() => true),
      new Promise((done) => setImmediate(done, false))
    ])
    assert.isFalse(isOpen)
    await first.end()
    const second = await opening
    assert.isTrue(existsSync(join(second.layer, conversation(SESSION))))
  })

  it("has one database for each workspace, which the user's own never is", async () => {
    const place = new StateHome(codexFolders)
    place.write(".codex/state_5.sqlite", "the user's")
    const first = await place.open("run_1")
    const databases = first.mounts.find(({ path }) => path === first.env["CODEX_SQLITE_HOME"])?.source ?? ""
    assert.deepStrictEqual(readdirSync(databases), [])
    write(join(databases, "state_5.sqlite"), "of the workspace")
    await first.end()
    const second = await place.open("run_2")
    assert.strictEqual(
      second.mounts.find(({ path }) => path === second.env["CODEX_SQLITE_HOME"])?.source,
      databases
    )
    const elsewhere = await place.open("run_3", { root: join(place.folder, "work", "web") })
    assert.notStrictEqual(
      elsewhere.mounts.find(({ path }) => path === elsewhere.env["CODEX_SQLITE_HOME"])?.source,
      databases
    )
    assert.strictEqual(place.read(".codex/state_5.sqlite"), "the user's")
  })

  it("takes back only conversations that name the run's workspace", async () => {
    const place = new StateHome(codexFolders)
    const { end, layer } = await place.open("run_1")
    const rollout = (id: string) => `sessions/2026/11/28/rollout-2026-11-28T06-37-45-${id}.jsonl`
    const head = (cwd: string) => `${JSON.stringify({ type: "session_meta", payload: { cwd } })}\nmore\n`
    write(join(layer, rollout(SESSION)), head(place.workspace))
    write(join(layer, rollout(OTHER)), head("/other"))
    await end()
    assert.strictEqual(place.read(`.codex/${rollout(SESSION)}`), head(place.workspace))
    assert.isUndefined(place.read(`.codex/${rollout(OTHER)}`))
  })

  it("takes back no conversation of another workspace next to one of the run's with the same id", async () => {
    const place = new StateHome(codexFolders)
    const { end, layer } = await place.open("run_1")
    const rollout = (day: string) => `sessions/2026/01/${day}/rollout-1-${SESSION}.jsonl`
    write(join(layer, rollout("01")), headOf(place.workspace))
    write(join(layer, rollout("02")), headOf("/other"))
    await end()
    assert.isDefined(place.read(`.codex/${rollout("01")}`))
    assert.isUndefined(place.read(`.codex/${rollout("02")}`))
  })

  it("receives no conversation of another workspace, though the run names its id", async () => {
    const place = new StateHome(codexFolders)
    const rollout = `sessions/2026/01/01/rollout-1-${SESSION}.jsonl`
    place.write(`.codex/${rollout}`, headOf("/other"))
    const { end, layer } = await place.open("run_1", { session: SESSION })
    assert.isFalse(existsSync(join(layer, rollout)))
    await end()
    place.write(`.codex/${rollout}`, headOf(place.workspace))
    const second = await place.open("run_2", { session: SESSION })
    assert.isTrue(existsSync(join(second.layer, rollout)))
  })

  it("receives the files of the run's project only", async () => {
    const place = new StateHome(geminiFolders)
    const chat = (project: string) => `.gemini/tmp/${project}/chats/session-1-${SESSION.slice(0, 8)}.json`
    for (const [project, root] of [
      ["api", place.workspace],
      ["other", "/other"]
    ] as const) {
      place.write(`.gemini/tmp/${project}/.project_root`, root)
      place.write(chat(project), "{}")
    }
    const { layer } = await place.open("run_1", { session: SESSION })
    assert.deepStrictEqual(readdirSync(join(layer, "tmp")), ["api"])
  })

  it("is named by a variable where nothing can be mounted, and refused without one", async () => {
    const place = new StateHome(codexFolders)
    place.write(".codex/config.toml", "model = 'a'")
    const { env, layer, mounts } = await place.open("run_1", { canMount: false })
    assert.strictEqual(env["CODEX_HOME"], layer)
    assert.isTrue(mounts.every(({ source }) => source === undefined))
    assert.include(
      mounts.map(({ path }) => path),
      place.path(".codex/config.toml")
    )
    const nameless = new StateHome({ state: [{ path: ".agent" }] })
    const failure = await nameless.open("run_1", { canMount: false }).then(() => "", String)
    assert.include(failure, "no variable names that folder")
  })
})
