/** The default story: looks around, reads a file, says what it saw, and asks to write it down. */
import { list, read, say, write } from "./Agent.mjs"

const isText = (name) => /(\.(md|txt|json|ya?ml|toml|[cm]?[jt]sx?|py|rs|go|sh|html|css)|^[A-Z]+)$/.test(name)

export const story = async (prompt) => {
  const pace = { delay: 12 }
  await say("I look at what is here before I say anything.", { ...pace, channel: "reasoning" })
  const names = await list()
  const name = names.find((entry) => entry.toLowerCase() === "readme.md") ?? names.find(isText)
  const text = name === undefined ? undefined : await read(name)
  const lines = (text ?? "").split("\n").filter((line) => line.trim() !== "")
  const seen =
    text === undefined
      ? `The workspace has ${names.length} entries and no text file that I could read.`
      : `I read ${name}: ${lines.length} lines with something on them. It begins with "${(lines[0] ?? "").slice(0, 80)}".`
  await say(`${seen} I would like to write that down in NOTES.md.`, pace)
  const asked = prompt.trim().split("\n")[0]?.slice(0, 200) ?? ""
  const written = await write("NOTES.md", `# Notes\n\nAsked: ${asked}\n\n${seen}\n`)
  await say(
    written.denied === undefined
      ? `Done. The notes are in ${written.path}.`
      : `I left the workspace as it was (${written.denied}). That is all I have to say.`,
    pace
  )
}
