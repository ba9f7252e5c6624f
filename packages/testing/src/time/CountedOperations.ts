/**
 * Count of the operations of a synchronous piece of work, instead of its time: each element that a method of an array, a map, a set or an object
 * visits, each step of an iterator, and each change of a map or a set.
 *
 * Guarantees: a copy of a collection counts its elements, by spread, constructor or method.
 * Does not: count loops by index, spreads of objects and characters of texts.
 */
type Method = (this: unknown, ...args: Array<unknown>) => unknown

const arrayMethods = [
  "concat",
  "every",
  "filter",
  "find",
  "findIndex",
  "findLast",
  "flatMap",
  "forEach",
  "includes",
  "indexOf",
  "join",
  "map",
  "reduce",
  "reverse",
  "shift",
  "slice",
  "some",
  "sort",
  "splice",
  "toReversed",
  "toSorted",
  "toSpliced",
  "unshift"
]
const iterators = ["entries", "keys", "values", Symbol.iterator] as const
const changes = ["add", "delete", "set"]

let count = 0

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0)

/** Replaces a method, if it exists, and returns how to put it back. */
const replace = (owner: object, name: PropertyKey, replacement: (method: Method) => Method): (() => void) => {
  const original = Object.getOwnPropertyDescriptor(owner, name)
  if (original === undefined) return () => undefined
  // Methods of built-in objects are functions of their receiver.
  const method = original.value as Method
  Object.defineProperty(owner, name, { ...original, value: replacement(method) })
  return () => void Object.defineProperty(owner, name, original)
}

const countingLength = (method: Method): Method =>
  function (...args) {
    count +=
      lengthOf(this) +
      (method.name === "concat" ? args.reduce<number>((sum, one) => sum + lengthOf(one), 0) : 0)
    return method.apply(this, args)
  }

const countingOne = (method: Method): Method =>
  function (...args) {
    count++
    return method.apply(this, args)
  }

const countingSteps = (method: Method): Method =>
  function () {
    const iterator = method.call(this) as IterableIterator<unknown>
    return {
      next: () => {
        count++
        return iterator.next()
      },
      [Symbol.iterator]() {
        return this
      }
    }
  }

const countingKeys = (method: Method): Method =>
  function (...args) {
    const [value] = args
    count += typeof value === "object" && value !== null ? Reflect.ownKeys(value).length : 0
    return method.apply(this, args)
  }

const install = (): ReadonlyArray<() => void> => [
  ...arrayMethods.map((name) => replace(Array.prototype, name, countingLength)),
  ...[Array.prototype, Map.prototype, Set.prototype].flatMap((owner) =>
    iterators.map((name) => replace(owner, name, countingSteps))
  ),
  ...[Map.prototype, Set.prototype].flatMap((owner) =>
    changes.map((name) => replace(owner, name, countingOne))
  ),
  ...["assign", "entries", "fromEntries", "keys", "values"].map((name) => replace(Object, name, countingKeys))
]

/** The number of operations of `work`. */
export const countOperations = (work: () => void): number => {
  const restore = install()
  count = 0
  try {
    work()
    return count
  } finally {
    for (let at = restore.length - 1; at >= 0; at--) restore[at]?.()
  }
}
