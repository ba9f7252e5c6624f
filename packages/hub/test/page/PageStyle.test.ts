import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { pageStyle } from "../../src/page/HubPage.ts"
import { signInPage, signInPolicy } from "../../src/signin/DevelopmentProvider.ts"

const tokens = readFileSync(
  fileURLToPath(new URL("../../../console/src/ui/tokens.css", import.meta.url)),
  "utf8"
)

/** Declared tokens, by name. */
const declared = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(/(--[a-z-]+): ([^;]+);/g)].map(([, name = "", value = ""]) => [name, value]))

describe("pageStyle", () => {
  it("has the values of the console's tokens", () => {
    const [console, page] = [declared(tokens), declared(pageStyle)]
    assert.isAbove(page.size, 12)
    for (const [name, value] of page) assert.strictEqual(console.get(name), value, name)
  })

  it("declares each token that it uses, and loads nothing", () => {
    const page = declared(pageStyle)
    for (const [, name = ""] of pageStyle.matchAll(/var\((--[a-z-]+)\)/g)) assert.isTrue(page.has(name), name)
    assert.notMatch(pageStyle, /url\(|@import|</)
  })
})

describe("signInPage", () => {
  it("is in the language that the browser prefers, and shows a proposed name as text", () => {
    assert.match(signInPage("Ada"), /lang="en"[^]*Your name[^]*value="Ada"/)
    assert.match(signInPage("Ada", "zh-CN,zh;q=0.9,en;q=0.8"), /lang="zh-CN"[^]*您的姓名/)
    assert.match(signInPage("Ada", "en,zh;q=0.5"), /lang="en"/)
    assert.notInclude(signInPage(`"><script>alert(1)</script>`), "<script")
  })

  it("allows its own style only", () => {
    assert.match(signInPolicy, /^default-src 'none'; style-src 'sha256-[^']+'; frame-ancestors 'none'$/)
    assert.notMatch(signInPage("Ada"), / style=| on\w+=/)
  })
})
