/** The name of a lock: a fixed one, or a function that makes it from the arguments of the decorated method. */
export type LockKey = string | ((...args: never[]) => string);

/** An async method. */
export type Method<This, Args extends unknown[], R> = (this: This, ...args: Args) => Promise<R>;

/**
 * Whether the key function accepts these arguments. Parameters without a type annotation are not compared: they have
 * no type to compare.
 */
export type Fits<K extends LockKey, Args extends unknown[]> = K extends string | ((...args: Args) => string)
  ? true
  : K extends (...args: infer P) => string
    ? [P[number]] extends [never]
      ? true
      : false
    : false;

/** The compiler's message if the key function does not fit the method. */
export type WrongKey = 'The key function of this decorator takes other parameters than the method';

/** The name of the lock for a call with these arguments. */
export function nameFor(key: LockKey, args: readonly unknown[]): string {
  return typeof key === 'function' ? key(...(args as never[])) : key;
}

/** A legacy decorator (`experimentalDecorators`), for methods whose arguments the key function accepts. */
export interface LegacyLockDecorator<K extends LockKey> {
  <Args extends unknown[], R>(
    target: object,
    propertyKey: string | symbol,
    descriptor: TypedPropertyDescriptor<(...args: Args) => Promise<R>> &
      (Fits<K, Args> extends true ? unknown : WrongKey),
  ): void;
}

/** A method to decorate, async or not. */
type AnyMethod = (this: unknown, ...args: unknown[]) => unknown;

/**
 * The code that runs in place of a decorated method.
 *
 * @param call - runs the method itself, with its `this` and its arguments
 * @param args - those arguments
 * @param self - that `this`
 */
export type Around = (call: () => unknown, args: readonly unknown[], self: unknown) => Promise<unknown>;

/** The decorator of either flavour, as compilers call it. */
type MethodDecoratorOfEither = (target: unknown, keyOrContext: unknown, descriptor?: unknown) => unknown;

/** The part of the package reflect-metadata that keeps the metadata of decorators. */
interface Metadata {
  readonly getOwnMetadataKeys?: (target: object) => unknown[];
  readonly getOwnMetadata?: (key: unknown, target: object) => unknown;
  readonly defineMetadata?: (key: unknown, value: unknown, target: object) => void;
}

/**
 * A decorator that replaces a method by one that runs it within `around`. It works as a standard decorator, and as a
 * legacy one (`experimentalDecorators`).
 *
 * @param name - the decorator's name, for the error
 * @param around - may reject or throw: the method rejects in both cases
 * @returns a decorator that throws a TypeError for anything but a method
 */
export function decorateMethod(name: string, around: Around): MethodDecoratorOfEither {
  return (target, keyOrContext, descriptor) => {
    const isStandard = (keyOrContext as { readonly kind?: unknown } | undefined)?.kind === 'method';
    if (isStandard && typeof target === 'function') return wrapped(target as AnyMethod, around);
    const method = (descriptor as PropertyDescriptor | undefined)?.value as unknown;
    if (typeof method !== 'function') throw new TypeError(`${name} decorates methods, and nothing else`);
    (descriptor as PropertyDescriptor).value = wrapped(method as AnyMethod, around);
    return undefined;
  };
}

function wrapped(method: AnyMethod, around: Around): AnyMethod {
  const wrapper = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
    return around(() => method.apply(this, args), args, this);
  };
  // Stack traces show this name.
  Object.defineProperty(wrapper, 'name', { value: method.name, configurable: true });
  copyMetadata(method, wrapper);
  return wrapper;
}

/** Copies what inner decorators have stored at the method (a NestJS route, say): it is read from the replacement. */
function copyMetadata(from: object, to: object): void {
  const { getOwnMetadataKeys, getOwnMetadata, defineMetadata } = Reflect as unknown as Metadata;
  if (!getOwnMetadataKeys || !getOwnMetadata || !defineMetadata) return;
  for (const key of getOwnMetadataKeys(from)) defineMetadata(key, getOwnMetadata(key, from), to);
}
