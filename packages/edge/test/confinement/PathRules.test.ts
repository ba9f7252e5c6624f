import { assert, describe, it } from "@effect/vitest"
import { pathRules } from "../../src/confinement/Mount.ts"
import { EDGE, rulesIn, TEMPORARY, WORKSPACE } from "./MachineRules.ts"

const paths = (rules: ReturnType<typeof rulesIn>, access: string): ReadonlyArray<string> =>
  rules.filter((rule) => rule.access === access).map(({ path }) => path)

describe("pathRules", () => {
  it.each(["read_only", "plan"] as const)(
    "lets a run in %s write its temporary folder and its state",
    (mode) => {
      assert.deepStrictEqual(
        paths(rulesIn(mode), "write").toSorted(),
        ["/home/u/.agent", TEMPORARY].toSorted()
      )
    }
  )

  it.each(["ask", "auto_edit"] as const)("lets a run in %s write the workspace, too", (mode) => {
    const rules = rulesIn(mode)
    assert.includeMembers([...paths(rules, "write")], [WORKSPACE, `${WORKSPACE}/.git`])
    assert.includeMembers([...paths(rules, "read")], [`${WORKSPACE}/.vscode`, `${WORKSPACE}/.git/hooks`])
  })

  it("has no path that exists only in the run, and no link", () => {
    const all = rulesIn("ask").map(({ path }) => path)
    for (const path of ["/tmp", "/run", "/run/corral", "/bin", "/home/u", "/var/tmp"])
      assert.notInclude(all, path)
  })

  it("orders rules from the outside to the inside, and keeps the last one of a path", () => {
    const rules = pathRules([
      { kind: "read", path: "/a/b/c" },
      { kind: "read", path: "/a/b" },
      { kind: "write", path: "/a" },
      { kind: "hidden", path: "/a/b" }
    ])
    assert.deepStrictEqual(rules, [
      { access: "write", path: "/a" },
      { access: "none", path: "/a/b" },
      { access: "read", path: "/a/b/c" }
    ])
  })

  it("hides the Edge's files in a workspace that contains them, except what the run may see", () => {
    const rules = rulesIn("plan", "/home/u")
    assert.include(paths(rules, "none"), EDGE)
    assert.isAbove(
      rules.findIndex(({ path }) => path === TEMPORARY),
      rules.findIndex(({ path }) => path === EDGE)
    )
  })
})
