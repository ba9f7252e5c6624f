import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { chineseByCode, chineseByMessage } from "../../src/ui/chineseErrors.ts"

const src = fileURLToPath(new URL("../../src/", import.meta.url))
const files = readdirSync(src, { recursive: true, encoding: "utf8" })
const chinese = String.raw`[\u4e00-\u9fff（）“”‘’]`
/** Punctuation of Latin text next to Chinese text. A colon of a time or an address has no Chinese beside it. */
const halfWidth = new RegExp(`${chinese}[,;:?!()]|[,;?!()]${chinese}|${chinese}\\.(?:["\`]|$)`)

const literals = (source: string): ReadonlyArray<string> =>
  [...source.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)].map(
    ([, plain, template]) =>
      // Values of a template are Latin names and numbers, or texts that are checked on their own.
      plain ?? (template ?? "").replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, "x")
  )

describe("Chinese texts", () => {
  it("have the punctuation of Chinese", () => {
    const found = files
      .filter((name) => /\.tsx?$/.test(name))
      .flatMap((name) => literals(readFileSync(join(src, name), "utf8")).map((text) => `${name}: ${text}`))
      .concat([...Object.values(chineseByCode), ...chineseByMessage.values()])
      .filter((text) => /[\u4e00-\u9fff]/.test(text) && halfWidth.test(text))
    assert.deepStrictEqual(found, [])
  })

  it("get no punctuation from the code around them", () => {
    const found = files
      .filter((name) => name.endsWith(".tsx") && !name.startsWith("gallery"))
      .flatMap((name) =>
        [
          ...readFileSync(join(src, name), "utf8").matchAll(/\{"[,:;.] ?"\}|<>[,:;.] |className="hidden">, /g)
        ].map(([text]) => `${name}: ${text}`)
      )
    assert.deepStrictEqual(found, [])
  })
})
