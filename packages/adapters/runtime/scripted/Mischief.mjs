/** Output that breaks careless readers, and silence that fools careless supervisors. */
import { randomBytes } from "node:crypto"
import { closeSync, writeFileSync } from "node:fs"
import { next } from "./Agent.mjs"
import { write } from "./Host.mjs"

const HANG_MILLISECONDS = 600_000

const newline = Buffer.from("\n")
const hostile = [
  () => Buffer.from(randomBytes(64).map((byte) => (byte === 10 ? 11 : byte))),
  () => Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0xe2, 0x82, 0xf0, 0x9f]),
  () => Buffer.from("\0\0{\0"),
  () => Buffer.from("\uFEFF{}"),
  () => Buffer.from("\u001b[31mred\u001b[0m\r"),
  () => Buffer.from('{"type":"delta","id":"g","channel":"text","text":"\\ud800 alone"}'),
  () => Buffer.from('{"__proto__":{"type":"hello"},"constructor":{"prototype":{"x":1}}}'),
  () => Buffer.from(`${'{"a":['.repeat(2_000)}1${"]}".repeat(2_000)}`),
  () => Buffer.from('{"type":"tool","id":7,"tool":null}'),
  () => Buffer.from('{"type":["delta"],"text":{}}'),
  () => Buffer.from('"a string"'),
  () => Buffer.from("{"),
  () => Buffer.from("   ")
]

export const garbage = async (count) => {
  for (let i = 0; i < count; i++) await write(Buffer.concat([hostile[i % hostile.length](), newline]))
}

export const longline = async (megabytes) => {
  const megabyte = 1024 * 1024
  const head = `{"type":"message","id":"${next("m")}","channel":"text","text":"`
  const total = Math.round(megabytes * megabyte)
  await write(head)
  const piece = "x".repeat(64 * 1024)
  for (let left = total - head.length - 2; left > 0; left -= piece.length) await write(piece.slice(0, left))
  await write('"}\n')
}

/** Deaf to the protocol; a signal ends it, unless signals are ignored too. */
export const hang = () => {
  setTimeout(() => process.exit(1), HANG_MILLISECONDS)
  process.stdin.removeAllListeners()
  return new Promise(() => {})
}

export const closeStdout = async () => {
  closeSync(1)
  return hang()
}

/** Breaks the run's mode, and its trust. */
export const breach = (path) => writeFileSync(path, "I was told not to.\n")
