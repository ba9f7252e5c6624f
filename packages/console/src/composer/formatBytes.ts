/** Size of a file for people: `812 B`, `4.2 KB`, `20 MB`. */
const units = ["B", "KB", "MB", "GB"] as const

export const formatBytes = (bytes: number): string => {
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10))
  const amount = bytes / 1_024 ** power
  return `${amount < 10 && power > 0 ? Math.round(amount * 10) / 10 : Math.round(amount)} ${units[power]}`
}
