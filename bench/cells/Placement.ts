/**
 * Devices that arrive one after the other, and the cells they live in.
 *
 * A device joins a group or begins one. A group is what has to be in one cell: projects and the devices shared with them. Large groups grow faster, so
 * that group sizes follow a power law, as in many services. A cell is chosen when a group begins, and does not know how large it will be.
 */
import type { Random } from "./Random.ts"

/** Share of the devices that begin a group: 3.3 devices in a group on average, some thousand in the largest. */
const NEW_GROUP = 0.3

export interface Group {
  readonly cell: number
  readonly devices: number
}

/** Returns the cell of a new group. `devices`: of each cell, now. */
export type Placement = (devices: ReadonlyArray<number>, random: Random) => number

export const placements: Readonly<Record<string, Placement>> = {
  "by a hash": (devices, random) => random.below(devices.length),
  "the emptier of two": (devices, random) => {
    const [one, other] = [random.below(devices.length), random.below(devices.length)]
    return (devices[one] ?? 0) <= (devices[other] ?? 0) ? one : other
  },
  "the emptiest": (devices) => devices.indexOf(Math.min(...devices))
}

export const place = (
  count: number,
  cells: number,
  placement: Placement,
  random: Random
): ReadonlyArray<Group> => {
  const devices = Array.from({ length: cells }, () => 0)
  const groups: Array<{ readonly cell: number; devices: number }> = []
  const groupOf: Array<number> = []
  for (let at = 0; at < count; at++) {
    const isNew = at === 0 || random.share() < NEW_GROUP
    const group = isNew ? groups.length : (groupOf[random.below(at)] ?? 0)
    if (isNew) groups.push({ cell: placement(devices, random), devices: 0 })
    const found = groups[group]
    if (found === undefined) continue
    found.devices++
    devices[found.cell] = (devices[found.cell] ?? 0) + 1
    groupOf.push(group)
  }
  return groups
}

export const devicesOf = (groups: ReadonlyArray<Group>, cells: number): ReadonlyArray<number> => {
  const devices = Array.from({ length: cells }, () => 0)
  for (const group of groups) devices[group.cell] = (devices[group.cell] ?? 0) + group.devices
  return devices
}

export interface Moves {
  readonly groups: number
  readonly devices: number
}

/**
 * Groups that move from the fullest cell to the emptiest until no cell exceeds the mean by more than `tolerance`: the largest that is not more than the
 * excess, or else the smallest.
 */
export const rebalance = (groups: ReadonlyArray<Group>, cells: number, tolerance: number): Moves => {
  const devices = [...devicesOf(groups, cells)]
  const limit = (devices.reduce((sum, each) => sum + each, 0) / cells) * (1 + tolerance)
  const left = groups.map((group) => ({ ...group })).sort((a, b) => b.devices - a.devices)
  const moved = { groups: 0, devices: 0 }
  for (;;) {
    const [full, empty] = [devices.indexOf(Math.max(...devices)), devices.indexOf(Math.min(...devices))]
    const excess = (devices[full] ?? 0) - limit
    if (excess <= 0) return moved
    const room = limit - (devices[empty] ?? 0)
    const isMovable = (most: number) => (group: Group) => group.cell === full && group.devices <= most
    const largest = left.findIndex(isMovable(Math.min(room, excess)))
    const at = largest === -1 ? left.findLastIndex(isMovable(room)) : largest
    const group = left[at]
    if (group === undefined) return moved
    left[at] = { ...group, cell: empty }
    devices[full] = (devices[full] ?? 0) - group.devices
    devices[empty] = (devices[empty] ?? 0) + group.devices
    moved.groups++
    moved.devices += group.devices
  }
}
