/** The entry for the registry of the Agent Client Protocol: its documented fields, the icon, and the version of the packages. */
import { assert, describe, it } from "@effect/vitest"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { VERSION } from "@corral/service/Version"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const fileOf = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../acp/${name}`, import.meta.url)), "utf8")

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === "string" && value !== ""
const isTextList: Check = (value) => Array.isArray(value) && value.every(isText)
const isAddress: Check = (value) => typeof value === "string" && URL.canParse(value)
const matches =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === "string" && pattern.test(value)

/** Fields of an entry. */
const fields: Readonly<Record<string, { readonly isRequired: boolean; readonly check: Check }>> = {
  id: { isRequired: true, check: matches(/^[a-z][a-z0-9-]*$/) },
  name: { isRequired: true, check: isText },
  version: { isRequired: true, check: matches(/^\d+\.\d+\.\d+$/) },
  description: { isRequired: true, check: isText },
  license_url: { isRequired: true, check: isAddress },
  distribution: { isRequired: true, check: isJsonObject },
  repository: { isRequired: false, check: isAddress },
  website: { isRequired: false, check: isAddress },
  authors: { isRequired: false, check: isTextList },
  license: { isRequired: false, check: isText }
}

/** What does not fit. */
const problemsOf = (entry: unknown): ReadonlyArray<string> => {
  if (!isJsonObject(entry)) return ["not an object"]
  const unknown = Object.keys(entry).filter((name) => !Object.hasOwn(fields, name))
  const wrong = Object.entries(fields).flatMap(([name, { check, isRequired }]) =>
    entry[name] === undefined ? (isRequired ? [`${name} is missing`] : []) : check(entry[name]) ? [] : [name]
  )
  const { distribution, version } = entry
  const npx = isJsonObject(distribution) ? distribution["npx"] : undefined
  const isNamed =
    isJsonObject(npx) && npx["package"] === `corral@${String(version)}` && isTextList(npx["args"])
  return [...unknown, ...wrong, ...(isNamed ? [] : ["distribution.npx"])]
}

describe("The registry entry", () => {
  const entry: unknown = JSON.parse(fileOf("agent.json"))

  it("has the documented fields and the version of the packages", () => {
    assert.deepStrictEqual(problemsOf(entry), [])
    assert.deepInclude(Object(entry), { version: VERSION })
  })

  it("is refused with a missing, an unknown or a wrong field", () => {
    for (const change of [
      { id: "Corral" },
      { version: "0.3" },
      { license_url: undefined },
      { extra: 1 },
      { distribution: { npx: { package: "corral@latest", args: [] } } }
    ])
      assert.isNotEmpty(problemsOf({ ...Object(entry), ...change }), JSON.stringify(change))
  })

  it("has an icon of 16 by 16 in the current colour", () => {
    const icon = fileOf("icon.svg")
    assert.match(icon, /width="16" height="16" viewBox="0 0 16 16"/)
    for (const [, colour] of icon.matchAll(/(?:fill|stroke)="([^"]*)"/g))
      assert.include(["currentColor", "none", "inherit"], colour)
    assert.notMatch(icon, /style=|<script|href=/)
  })
})
