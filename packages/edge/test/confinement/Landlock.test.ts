/** What the kernel refuses to a program under Landlock, with the setpriv of this machine. */
import type { RunMode } from "@corral/domain/run/Run"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { makeEdgeConfig } from "../../src/config/EdgeConfig.ts"
import { mountsOfRun } from "../../src/confinement/RunMounts.ts"
import { systemMounts } from "../../src/confinement/SystemFolders.ts"
import { openFolder } from "../Folder.ts"
import { landlock } from "./CanLimitFiles.ts"

const PATH = "/usr/local/bin:/usr/bin:/bin"

const write = (path: string, content: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

/** A workspace with a repository, a home with a secret and an agent's state, and the Edge's home. */
const makeScene = (workspaceIn: string = "work") => {
  const folder = openFolder()
  const [workspace, home, edge] = [workspaceIn, "home", "home/.corral"].map((name) => join(folder, name)) as [
    string,
    string,
    string
  ]
  const temporary = join(edge, "tmp", "run_a")
  mkdirSync(temporary, { recursive: true })
  write(join(workspace, "file.txt"), "before")
  write(join(workspace, ".vscode", "tasks.json"), "{}")
  write(join(home, ".ssh", "id"), "secret")
  write(join(home, "notes"), "plain")
  write(join(home, ".agent", "history"), "")
  write(join(edge, "edge.token"), "token")
  write(join(folder, "outside", "file.txt"), "before")
  symlinkSync(join(folder, "outside"), join(workspace, "link"))
  return { folder, workspace, home, edge, temporary }
}

/** Output of a shell command in a run. */
const outputOf = (
  { edge, home, temporary, workspace }: ReturnType<typeof makeScene>,
  mode: RunMode,
  script: string
) =>
  Effect.gen(function* () {
    if (landlock === undefined) return yield* Effect.die("Landlock does not work here")
    const command = {
      file: "/bin/sh",
      args: ["-c", script],
      cwd: workspace,
      env: { PATH, HOME: home, TMPDIR: temporary },
      stdin: "ignore" as const,
      temporary
    }
    const config = makeEdgeConfig({ home: edge, environment: {} })
    const files = { mode, workspace, attachments: undefined, folders: { state: [{ path: ".agent" }] } }
    const system = systemMounts(process.getuid?.() === 0)
    const mounts = mountsOfRun(system, config, files, command, {
      network: `${temporary}.net`,
      copies: `${temporary}.copies`,
      caches: [],
      state: [{ kind: "write", path: join(home, ".agent") }]
    })
    const network = {
      folder: `${temporary}.net`,
      mode,
      declared: undefined,
      hosts: [],
      grants: [],
      environment: {},
      user: { ask: () => Effect.succeed("denied" as const), report: () => undefined }
    }
    const { command: spec } = yield* landlock.confine({ command, mounts, network })
    const { status, stderr, stdout } = spawnSync(spec.file, spec.args, {
      cwd: spec.cwd,
      env: spec.env,
      encoding: "utf8"
    })
    return { status, stderr, stdout }
  }).pipe(Effect.scoped)

const tries = (...commands: ReadonlyArray<string>): string =>
  commands.map((command) => `(${command}) 2>/dev/null && echo "did: ${command}"`).join("\n") + "\ntrue"

describe.skipIf(landlock === undefined)("a program under Landlock", () => {
  it.effect.each(["read_only", "plan", "ask", "auto_edit"] as const)(
    "changes nothing outside in %s",
    (mode) =>
      Effect.gen(function* () {
        const scene = makeScene()
        const script = tries(
          "echo a > ../outside/file.txt",
          "echo a > link/file.txt",
          "ln ../outside/file.txt ./hard",
          "mv ../outside/file.txt ./moved",
          "rm ../outside/file.txt",
          "truncate -s 0 ../outside/file.txt",
          "mkdir ../made",
          'echo a > "$HOME/.bashrc"',
          'cat "$HOME/.ssh/id"',
          'cat "$HOME/.corral/edge.token"',
          'ls "$HOME"',
          'echo a > "$HOME/.corral/tmp/run_b"',
          "echo a > /tmp/corral-landlock-test",
          "cat /proc/1/environ"
        )
        const { status, stdout } = yield* outputOf(scene, mode, script)
        assert.deepStrictEqual({ status, stdout }, { status: 0, stdout: "" })
        assert.strictEqual(readFileSync(join(scene.folder, "outside", "file.txt"), "utf8"), "before")
      })
  )

  it.effect.each([
    ["read_only", false],
    ["plan", false],
    ["ask", true],
    ["auto_edit", true]
  ] as const)("in %s writes the workspace: %s", ([mode, isWritable]) =>
    Effect.gen(function* () {
      const scene = makeScene()
      yield* outputOf(scene, mode, "echo after > file.txt; rm -f .vscode/tasks.json; mkdir made")
      const content = readFileSync(join(scene.workspace, "file.txt"), "utf8")
      assert.strictEqual(content, isWritable ? "after\n" : "before")
      assert.strictEqual(existsSync(join(scene.workspace, "made")), isWritable)
      // A rule for a folder counts for everything in it: what other means protect is compared and reported.
      assert.strictEqual(existsSync(join(scene.workspace, ".vscode", "tasks.json")), !isWritable)
    })
  )

  it.effect("works: it reads its workspace, writes its own files and state, and starts programs", () =>
    Effect.gen(function* () {
      const scene = makeScene()
      const script = `cat file.txt && echo x > "$TMPDIR/a" && mv "$TMPDIR/a" "$TMPDIR/b" && echo y >> "$HOME/.agent/history" &&
        mkdir -p "$XDG_CACHE_HOME" && git --version >/dev/null && echo ok > /dev/null && echo end`
      const { stderr, stdout } = yield* outputOf(scene, "plan", script)
      assert.strictEqual(stdout, "beforeend\n", stderr)
    })
  )

  it.effect("does not see the Edge's files in a workspace that contains them", () =>
    Effect.gen(function* () {
      const scene = makeScene("home")
      const { stdout } = yield* outputOf(scene, "read_only", "cat notes; cat .corral/edge.token 2>/dev/null")
      assert.strictEqual(stdout, "plain")
      const failure = yield* Effect.flip(outputOf(scene, "ask", "true"))
      assert.include(failure, "cannot hide files of the Edge")
    })
  )

  it.effect("has no capabilities, also if the Edge is root", () =>
    Effect.gen(function* () {
      const { stdout } = yield* outputOf(
        makeScene(),
        "ask",
        "grep -E 'Cap(Prm|Eff)|NoNewPrivs' /proc/self/status"
      )
      assert.deepStrictEqual(
        stdout
          .trim()
          .split("\n")
          .map((line) => line.split(/\s+/)[1]),
        ["0000000000000000", "0000000000000000", "1"]
      )
    })
  )
})
