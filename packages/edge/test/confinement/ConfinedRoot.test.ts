import type { RunMode } from "@corral/domain/run/Run"
import { assert, describe, it } from "@effect/vitest"
import { bubblewrapArguments } from "../../src/confinement/Bubblewrap.ts"
import { type ConfinedRootFacts, mountsOf } from "../../src/confinement/ConfinedRoot.ts"
import { inOrder, type Mount, mountArguments } from "../../src/confinement/Mount.ts"
import { isWithin } from "../../src/workspace/PathText.ts"

const facts = (changes: Partial<ConfinedRootFacts> = {}): ConfinedRootFacts => ({
  mode: "ask",
  workspace: "/home/u/work",
  temporary: "/home/u/.corral/tmp/run_1",
  home: "/home/u",
  system: [
    { kind: "read", path: "/usr" },
    { kind: "link", path: "/bin", target: "usr/bin" }
  ],
  readable: ["/home/u/.nvm"],
  state: [
    { kind: "write", path: "/home/u/.agent", source: "/home/u/.corral/runtime-state/run_1/0" },
    { kind: "read", path: "/home/u/.agent/hooks", source: "/home/u/.agent/hooks" }
  ],
  protected: ["/home/u/work/.vscode"],
  repository: [],
  caches: [
    { name: ".cache", source: "/home/u/.corral/caches/a/.cache", isWritable: true },
    { name: ".npm", source: undefined, isWritable: true },
    { name: ".cargo/registry", source: "/home/u/.corral/caches/a/.cargo/registry", isWritable: false }
  ],
  network: "/home/u/.corral/tmp/run_1.net",
  edgeFolder: "/home/u/.corral",
  edgeFiles: ["/home/u/.corral/edge.token"],
  ...changes
})

const paths = (mounts: ReadonlyArray<Mount>, kind: Mount["kind"]): ReadonlyArray<string> =>
  inOrder(mounts)
    .filter((mount) => mount.kind === kind)
    .map(({ path }) => path)
    .toSorted()

const WRITTEN = ["/home/u/.corral/tmp/run_1", "/tmp", "/home/u/.cache"]

describe("mountsOf", () => {
  it.each<[RunMode, ReadonlyArray<string>]>([
    ["read_only", [...WRITTEN, "/home/u/.agent"]],
    ["plan", [...WRITTEN, "/home/u/.agent"]],
    ["ask", [...WRITTEN, "/home/u/.agent", "/home/u/work"]],
    ["auto_edit", [...WRITTEN, "/home/u/.agent", "/home/u/work"]]
  ])("in %s lets a run write only its folders", (mode, expected) => {
    assert.deepStrictEqual(paths(mountsOf(facts({ mode })), "write"), expected.toSorted())
  })

  it("mounts no root, no home and no folder of the Edge", () => {
    for (const mode of ["read_only", "ask"] as const) {
      const mounts = mountsOf(facts({ mode }))
      const shown = [...paths(mounts, "read"), ...paths(mounts, "write")]
      for (const path of ["/", "/home", "/home/u", "/home/u/.corral", "/home/u/.corral/tmp", "/run", "/var"])
        assert.notInclude(shown, path)
    }
  })

  it("protects folders of the workspace and of the state only where a run could write them", () => {
    const writable = paths(mountsOf(facts()), "read")
    assert.include(writable, "/home/u/work/.vscode")
    assert.include(writable, "/home/u/.agent/hooks")
    const readOnly = paths(mountsOf(facts({ mode: "plan" })), "read")
    assert.notInclude(readOnly, "/home/u/work/.vscode")
    assert.include(readOnly, "/home/u/.agent/hooks")
  })

  it.each([
    ["the home", ["/home/u"]],
    ["a folder around the home", ["/home"]],
    ["the Edge's home", ["/home/u/.corral"]],
    ["the workspace", ["/home/u/work"]],
    ["a folder of the workspace", ["/home/u/work/node_modules"]]
  ])("leaves out a toolchain that is %s", (_, readable) => {
    const [path = ""] = readable
    assert.notInclude(paths(mountsOf(facts({ readable, mode: "ask" })), "read"), path)
  })

  it("hides the Edge's files in a workspace that contains them", () => {
    const mounts = mountsOf(facts({ workspace: "/home/u", edgeFiles: ["/home/u/token", "/etc/token"] }))
    assert.deepStrictEqual(paths(mounts, "hidden"), ["/home/u/.corral"])
    assert.deepStrictEqual(paths(mounts, "hidden_file"), ["/home/u/token"])
    const order = inOrder(mounts).map(({ path }) => path)
    assert.isBelow(order.indexOf("/home/u"), order.indexOf("/home/u/.corral"))
    assert.isBelow(order.indexOf("/home/u/.corral"), order.indexOf("/home/u/.corral/tmp/run_1"))
  })

  it("shows a worktree in the Edge's home, and nothing else of it", () => {
    const mounts = mountsOf(facts({ workspace: "/home/u/.corral/worktrees/run_1" }))
    const inside = [...paths(mounts, "read"), ...paths(mounts, "write")].filter((path) =>
      isWithin("/home/u/.corral", path)
    )
    assert.deepStrictEqual(inside.toSorted(), [
      "/home/u/.corral/tmp/run_1",
      "/home/u/.corral/worktrees/run_1"
    ])
  })

  it("mounts caches, unless the workspace shows the home", () => {
    const mounts = mountsOf(facts())
    assert.deepStrictEqual(paths(mounts, "link"), ["/bin", "/home/u/.npm", "/var/tmp"])
    assert.include(paths(mounts, "write"), "/home/u/.cache")
    assert.include(paths(mounts, "read"), "/home/u/.cargo/registry")
    const ofHome = mountsOf(facts({ workspace: "/home/u" }))
    assert.deepStrictEqual(paths(ofHome, "link"), ["/bin", "/var/tmp"])
    assert.notInclude(paths(ofHome, "write"), "/home/u/.cache")
    assert.notInclude(paths(ofHome, "read"), "/home/u/.cargo/registry")
  })

  it.each<[string, Partial<ConfinedRootFacts>]>([
    ["the workspace", { workspace: "/home/u/.cache/work" }],
    ["a toolchain", { readable: ["/home/u/.cache/tool/bin"] }],
    ["the state of a runtime", { state: [{ kind: "write", path: "/home/u/.cache/agent" }] }]
  ])("mounts no cache around %s, because a run could have put a link there", (_, changes) => {
    assert.notInclude(paths(mountsOf(facts(changes)), "write"), "/home/u/.cache")
  })

  it("shows attachments", () => {
    const attachments = "/home/u/.corral/attachments/s1"
    assert.include(paths(mountsOf(facts({ attachments })), "read"), attachments)
  })
})

describe("mountArguments", () => {
  it("mounts a folder before what is in it, and each path once", () => {
    const args = mountArguments([
      { kind: "read", path: "/a/b/c" },
      { kind: "read", path: "/a/b" },
      { kind: "write", path: "/a" },
      { kind: "write", path: "/a/b" }
    ])
    assert.deepStrictEqual(args, [
      "--bind",
      "/a",
      "/a",
      "--bind",
      "/a/b",
      "/a/b",
      "--ro-bind",
      "/a/b/c",
      "/a/b/c"
    ])
  })

  it("makes what hides a folder read-only after the mounts in it", () => {
    const args = mountArguments([
      { kind: "hidden", path: "/a" },
      { kind: "write", path: "/a/b" }
    ])
    assert.deepStrictEqual(args, ["--tmpfs", "/a", "--bind", "/a/b", "/a/b", "--remount-ro", "/a"])
  })
})

describe("bubblewrapArguments", () => {
  const args = bubblewrapArguments({
    mounts: mountsOf(facts()),
    cwd: "/home/u/work",
    file: "/usr/bin/x",
    args: ["-y"]
  })

  it("drops all capabilities and shares no namespace of processes", () => {
    for (const flag of [
      "--unshare-user",
      "--disable-userns",
      "--unshare-pid",
      "--unshare-ipc",
      "--new-session"
    ])
      assert.include(args, flag)
    assert.strictEqual(args[args.indexOf("--cap-drop") + 1], "ALL")
  })

  it("makes the root, /proc and /dev read-only", () => {
    const remounted = args.flatMap((arg, at) => (arg === "--remount-ro" ? [args[at + 1]] : []))
    assert.deepStrictEqual(remounted, ["/proc", "/dev", "/"])
  })

  it("mounts the devices first, so that they hide no workspace below /dev/shm", () => {
    assert.isBelow(args.lastIndexOf("/dev/shm"), args.indexOf("--bind"))
  })

  it("ends with the program", () => {
    assert.deepStrictEqual(args.slice(args.indexOf("--chdir")), [
      "--chdir",
      "/home/u/work",
      "--",
      "/usr/bin/x",
      "-y"
    ])
  })
})
