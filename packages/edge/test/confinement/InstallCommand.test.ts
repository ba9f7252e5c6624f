import { assert, describe, it } from "@effect/vitest"
import { join } from "node:path"
import { installSentence } from "../../src/confinement/Bubblewrap.ts"
import { openFolder, writeProgram } from "../Folder.ts"

const PACKAGES = ["bubblewrap", "socat"]

const pathWith = (...programs: ReadonlyArray<string>): string => {
  const folder = openFolder()
  for (const program of programs) writeProgram(join(folder, program), "exit 1")
  return folder
}

describe("installSentence", () => {
  it.each([
    ["apt-get", "Run `sudo apt-get install bubblewrap socat`."],
    ["dnf", "Run `sudo dnf install bubblewrap socat`."],
    ["pacman", "Run `sudo pacman -S bubblewrap socat`."],
    ["zypper", "Run `sudo zypper install bubblewrap socat`."],
    ["apk", "Run `sudo apk add bubblewrap socat`."]
  ])("uses %s if the machine has it", (program, sentence) => {
    assert.strictEqual(installSentence(PACKAGES, pathWith(program)), sentence)
  })

  it("names the packages on another machine", () => {
    assert.strictEqual(installSentence(PACKAGES, pathWith()), "Install the packages bubblewrap and socat.")
  })
})
