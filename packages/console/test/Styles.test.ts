/**
 * Styles load with the component that uses them, so every page can be the first one to open.
 *
 * `main.tsx` imports the global stylesheets. A component imports the stylesheets of all other classes, directly or through its imports. It
 * does not rely on the stylesheet of another page.
 */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"

const source = fileURLToPath(new URL("../src", import.meta.url))
const files = readdirSync(source, { recursive: true, encoding: "utf8" }).map((name) => join(source, name))
const textOf = (file: string): string => readFileSync(file, "utf8")

/** Static imports. Dynamic imports load other pages. */
const importsOf = (file: string): ReadonlyArray<string> =>
  [...textOf(file).matchAll(/^(?:import|export)\b[^"]*?"(\.[^"]+)"/gm)].map(([, path = ""]) =>
    join(dirname(file), path)
  )

const reachedFrom = (file: string, seen = new Set<string>()): ReadonlySet<string> => {
  if (seen.has(file)) return seen
  seen.add(file)
  if (/\.tsx?$/.test(file)) for (const next of importsOf(file)) reachedFrom(next, seen)
  return seen
}

const sheets = files.filter((file) => file.endsWith(".css"))
const classesOf = (sheet: string): ReadonlySet<string> =>
  new Set(
    [
      ...textOf(sheet)
        .replaceAll(/\/\*[\s\S]*?\*\//g, "")
        .matchAll(/\.([a-z][\w-]*)/g)
    ].map(([, name = ""]) => name)
  )
const defined = new Map(sheets.map((sheet) => [sheet, classesOf(sheet)]))
const global = new Set([...reachedFrom(join(source, "main.tsx"))].filter((file) => file.endsWith(".css")))

/** Classes by name; of a name that is put together, its fixed beginning: `risk-`. */
const usedIn = (file: string): ReadonlyArray<string> =>
  [...textOf(file).matchAll(/className=(?:"([^"]*)"|\{`([^`]*)`\}|\{([^}]*)\})/g)].flatMap(
    ([, plain, template, expression]) =>
      [plain ?? template ?? [...(expression ?? "").matchAll(/"([^"]*)"/g)].map(([, text]) => text).join(" ")]
        .join(" ")
        .replaceAll(/\$\{[^}]*\}/g, "\u0000")
        .split(/\s+/)
        .flatMap((name) => (/^[a-z]/.test(name) ? [name.split("\u0000")[0] ?? ""] : []))
  )

const defines = (sheet: string, used: string): boolean =>
  [...(defined.get(sheet) ?? [])].some(
    (name) => name === used || (used.endsWith("-") && name.startsWith(used))
  )

describe("styles", () => {
  const components = files.filter((file) => file.endsWith(".tsx"))

  it("are found in every kind of spelling", () => {
    const all = components.flatMap(usedIn)
    assert.includeMembers(all, ["approval", "risk-", "decision-buttons", "clipped", "tool-state-"])
  })

  it.each(components.map((file) => [relative(source, file), file] as const))(
    "of %s load with it",
    (_, file) => {
      const reached = reachedFrom(file)
      const missing = usedIn(file).flatMap((used) => {
        const owners = sheets.filter((sheet) => defines(sheet, used))
        const loaded = owners.some((sheet) => global.has(sheet) || reached.has(sheet))
        return owners.length === 0 || loaded
          ? []
          : [`${used} of ${owners.map((sheet) => relative(source, sheet)).join(", ")}`]
      })
      assert.deepStrictEqual(missing, [])
    }
  )

  // A button that becomes primary has its new text color at once: a background that follows slowly cannot be read under it.
  it.each(sheets.map((sheet) => [relative(source, sheet), sheet] as const))(
    "of %s change colors at once",
    (_, sheet) => {
      const slow = [...textOf(sheet).matchAll(/transition(?:-property)?:([^;]*)/g)]
        .map(([, value = ""]) => value.trim())
        .filter((value) => /\b(?:all|background|color|fill)\b/.test(value.replaceAll("border-color", "")))
      assert.deepStrictEqual(slow, [])
    }
  )
})
