/**
 * What a profile allows, judged by a reader that applies Seatbelt's rule for files: the last rule that matches counts. No profile was tried on
 * macOS (ADR 64).
 */
import type { RunMode } from "@corral/domain/run/Run"
import { assert, describe, it } from "@effect/vitest"
import { seatbeltProfile } from "../../src/confinement/Seatbelt.ts"
import { isWithin } from "../../src/workspace/PathText.ts"
import { EDGE, rulesIn, TEMPORARY, WORKSPACE } from "./MachineRules.ts"

const profileIn = (mode: RunMode, workspace?: string): string =>
  seatbeltProfile({ rules: rulesIn(mode, workspace), temporary: TEMPORARY, ports: [49_152, 11_434] })

/** Filters of paths in a line. */
const filter = /\((subpath|literal) "([^"]*)"\)/g

const matches = (line: string, path: string): boolean =>
  [...line.matchAll(filter)].some(([, kind, named = ""]) =>
    kind === "subpath" ? isWithin(named, path) : named === path
  )

/** Operations that include this one. */
const covers = (line: string, operation: string): boolean =>
  line
    .split(" ")
    .some((word) => word === operation || (word.endsWith("*") && operation.startsWith(word.slice(0, -1))))

const allows = (profile: string, operation: string, path: string): boolean =>
  profile
    .split("\n")
    .filter((line) => covers(line, operation) && matches(line, path))
    .at(-1)
    ?.startsWith("(allow") === true

const MODES = ["read_only", "plan", "ask", "auto_edit"] as const

describe("seatbeltProfile", () => {
  it.each<[string, readonly [boolean, boolean, boolean, boolean]]>([
    // read_only, plan, ask, auto_edit
    [`${WORKSPACE}/src/a.ts`, [false, false, true, true]],
    [`${WORKSPACE}/.git/index`, [false, false, true, true]],
    [`${WORKSPACE}/.git/hooks/pre-commit`, [false, false, false, false]],
    [`${WORKSPACE}/.vscode/tasks.json`, [false, false, false, false]],
    [`${TEMPORARY}/x`, [true, true, true, true]],
    ["/home/u/.agent/history", [true, true, true, true]],
    ["/home/u/.agent/hooks/x", [false, false, false, false]],
    ["/home/u/.bashrc", [false, false, false, false]],
    [`${EDGE}/edge.token`, [false, false, false, false]],
    [`${EDGE}/attachments/s1/a.png`, [false, false, false, false]],
    ["/usr/bin/x", [false, false, false, false]],
    ["/private/tmp/x", [false, false, false, false]]
  ])("decides by mode whether a run writes %s", (path, expected) => {
    MODES.forEach((mode, at) => {
      assert.strictEqual(allows(profileIn(mode), "file-write-data", path), expected[at], mode)
    })
  })

  it.each([
    [`${WORKSPACE}/.git/hooks/pre-commit`, true],
    [`${EDGE}/attachments/s1/a.png`, true],
    ["/usr/lib/dyld", true],
    ["/private/etc/hosts", true],
    ["/etc/ssl/private/key", false],
    ["/home/u/.ssh/id_ed25519", false],
    [`${EDGE}/edge.token`, false],
    [`${EDGE}/tmp/run_2/x`, false],
    ["/Library/Keychains/System.keychain", false]
  ])("decides whether a run reads %s", (path, expected) => {
    for (const mode of MODES)
      assert.strictEqual(allows(profileIn(mode), "file-read-data", path), expected, mode)
  })

  it("hides the Edge's files in a workspace that contains them", () => {
    const profile = profileIn("ask", "/home/u")
    assert.isTrue(allows(profile, "file-write-data", "/home/u/notes"))
    assert.isFalse(allows(profile, "file-read-data", `${EDGE}/edge.db`))
    assert.isTrue(allows(profile, "file-write-data", `${TEMPORARY}/x`))
  })

  it("does not let a run rename a folder with something protected in it", () => {
    const profile = profileIn("ask")
    for (const folder of [`${WORKSPACE}/.git`, WORKSPACE, "/home/u/.agent"])
      assert.isFalse(allows(profile, "file-write-unlink", folder), folder)
    assert.isTrue(allows(profile, "file-write-unlink", `${WORKSPACE}/.git/index`))
    assert.isTrue(allows(profile, "file-write-unlink", `${WORKSPACE}/src`))
  })

  it("connects to the listed ports of this machine and to the run's own sockets only", () => {
    for (const mode of MODES) {
      const outbound = profileIn(mode)
        .split("\n")
        .filter((line) => /^\(allow .*network-outbound|network\*/.test(line))
      assert.deepStrictEqual(outbound, [
        '(allow network-outbound (remote ip "localhost:49152"))',
        '(allow network-outbound (remote ip "localhost:11434"))',
        `(allow network-outbound (remote unix-socket (subpath "${TEMPORARY}")))`
      ])
    }
  })

  it("refuses what it does not list, first of all", () => {
    const [version, first] = profileIn("ask").split("\n")
    assert.deepStrictEqual([version, first], ["(version 1)", "(deny default)"])
    for (const name of [
      "SecurityServer",
      "trustd",
      "mDNSResponder",
      "pasteboard",
      "appleevents",
      "kern.proc"
    ])
      assert.notInclude(profileIn("ask"), name)
  })

  it("has balanced parentheses outside of its strings", () => {
    for (const line of profileIn("ask").split("\n")) {
      const bare = line.replaceAll(/"[^"]*"/g, "")
      assert.strictEqual(bare.split("(").length, bare.split(")").length, line)
    }
  })

  it("refuses a path that cannot be in a profile", () => {
    assert.throws(() => profileIn("ask", "/home/u/a\nb"), /control character/)
  })
})
