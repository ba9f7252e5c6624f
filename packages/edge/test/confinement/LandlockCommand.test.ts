/** The rules of setpriv. `Landlock.test.ts` runs them. */
import { assert, describe, it } from "@effect/vitest"
import { landlockArguments, type LandlockMachine } from "../../src/confinement/Landlock.ts"
import { EDGE, rulesIn, TEMPORARY, WORKSPACE } from "./MachineRules.ts"

const entries: Readonly<Record<string, ReadonlyArray<string>>> = {
  "/etc": ["hosts", "ssl"],
  "/etc/ssl": ["certs", "private"],
  "/etc/ssl/private": ["key", "other"],
  "/home/u": [".bashrc", ".corral", "work"]
}
const files = new Set(["/etc/hosts", "/etc/ssl/private/key", "/etc/ssl/private/other", "/home/u/.bashrc"])

const machine: LandlockMachine = {
  isRoot: false,
  kindOf: (path) => {
    if (path === "/dev/ptmx" || path === "/home/u/.nvm") return undefined
    return files.has(path) || (path.startsWith("/dev/") && path !== "/dev/pts") ? "file" : "folder"
  },
  entriesIn: (folder) => entries[folder] ?? []
}

const argumentsFor = (rules: ReturnType<typeof rulesIn>, changes: Partial<LandlockMachine> = {}) =>
  landlockArguments({ rules, file: "/usr/bin/x", args: ["-y"] }, { ...machine, ...changes })

/** Rights by path. */
const rightsOf = (args: ReadonlyArray<string>): ReadonlyMap<string, ReadonlyArray<string>> =>
  new Map(
    args.flatMap((arg) => {
      const [, rights = "", path = ""] = /^--landlock-rule=path-beneath:([a-z,-]+):(.+)$/.exec(arg) ?? []
      return path === "" ? [] : [[path, rights.split(",")] as const]
    })
  )

const writable = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...rightsOf(args)].flatMap(([path, rights]) => (rights.includes("write-file") ? [path] : []))

const DEVICES = ["full", "null", "pts", "random", "tty", "urandom", "zero"].map((name) => `/dev/${name}`)

describe("landlockArguments", () => {
  it.each([
    ["read_only", []],
    ["plan", []],
    ["ask", [WORKSPACE, `${WORKSPACE}/.git`]],
    ["auto_edit", [WORKSPACE, `${WORKSPACE}/.git`]]
  ] as const)("in %s lets a run write only its folders and ordinary devices", (mode, more) => {
    const expected = [...DEVICES, "/home/u/.agent", TEMPORARY, ...more]
    assert.deepStrictEqual([...writable(argumentsFor(rulesIn(mode)))].toSorted(), expected.toSorted())
  })

  it("handles every right of Linux 6.2, so that what no rule allows is refused", () => {
    const access = argumentsFor(rulesIn("plan")).find((arg) => arg.startsWith("--landlock-access=fs:")) ?? ""
    assert.lengthOf(access.split(","), 15)
    for (const right of ["truncate", "refer", "execute", "make-sock"]) assert.include(access, right)
  })

  it("has no rule for the home, the Edge's files, devices of the machine and missing paths", () => {
    const paths = [...rightsOf(argumentsFor(rulesIn("ask"))).keys()]
    for (const path of ["/", "/home", "/home/u", EDGE, "/dev", "/dev/ptmx", "/home/u/.nvm", "/run", "/tmp"])
      assert.notInclude(paths, path)
  })

  it("gives a file no rights of folders, which the kernel refuses", () => {
    const rights = rightsOf(argumentsFor(rulesIn("plan"))).get("/dev/null") ?? []
    assert.notInclude(rights, "read-dir")
    assert.notInclude(rights, "make-reg")
  })

  it("lists the entries around a hidden file", () => {
    const rights = rightsOf(argumentsFor(rulesIn("plan")))
    assert.deepStrictEqual(rights.get("/etc"), ["read-dir"])
    assert.include(rights.get("/etc/ssl/certs") ?? [], "read-file")
    assert.include(rights.get("/etc/ssl/private/other") ?? [], "read-file")
    assert.isFalse(rights.has("/etc/ssl/private/key"))
  })

  it("hides the Edge's files in a workspace that a run reads, and refuses one that it writes", () => {
    const rights = rightsOf(argumentsFor(rulesIn("plan", "/home/u")))
    assert.deepStrictEqual(rights.get("/home/u"), ["read-dir"])
    assert.isFalse(rights.has(EDGE))
    assert.isTrue(rights.has("/home/u/.bashrc"))
    assert.isTrue(rights.has(TEMPORARY))
    assert.throws(() => argumentsFor(rulesIn("ask", "/home/u")), /cannot hide files of the Edge in \/home\/u/)
  })

  it("refuses a number of rules that no command line has", () => {
    const entriesIn = () => Array.from({ length: 3_000 }, (_, at) => `e${at}`)
    assert.throws(() => argumentsFor(rulesIn("plan"), { entriesIn }), /too many rules/)
  })

  it("takes capabilities from a program of root only: an ordinary user cannot drop them", () => {
    const root = argumentsFor(rulesIn("plan"), { isRoot: true })
    assert.includeMembers([...root], ["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"])
    const ordinary = argumentsFor(rulesIn("plan"))
    assert.include(ordinary, "--no-new-privs")
    assert.notInclude(ordinary, "--bounding-set=-all")
  })

  it("ends with the program", () => {
    assert.deepStrictEqual(argumentsFor(rulesIn("plan")).slice(-3), ["--", "/usr/bin/x", "-y"])
  })
})
