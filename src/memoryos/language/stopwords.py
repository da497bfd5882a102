"""Function words: they say how a sentence is built, not what it is about."""

from __future__ import annotations

ENGLISH = frozenset(
    """
    a about above after again against all also am an and any anyway are aren as at awesome be because been
    before being below between both but by can cannot come could couldn did didn do does doesn doing don done
    down during each either else even ever every few for from further get gets getting give go going gonna good
    got great had hadn has hasn have haven having he hello hey hi her here hers herself him himself his how
    however i if in into is isn it its itself just know let like ll lot lots make makes many may maybe me might
    mine more most much must my myself near need neither never next no nor not now of off oh ok okay on once one
    only or other our ours ourselves out over own please pretty quite rather re really right said same say see
    seem shall she should shouldn since so some something sometimes soon still stuff such sure take than thank
    thanks that the their theirs them themselves then there these they thing things think this those though
    through till to too totally try under until up upon us use used ve very want was wasn way we well were weren
    what whatever when where whether which while who whom whose why will with within without won would wouldn
    wow yeah yep yes yet you your yours yourself yourselves
    """.split()
)

CHINESE = frozenset(
    """
    的 了 和 是 在 我 你 他 她 它 们 我们 你们 他们 她们 它们 这 那 这个 那个 这些 那些 这里 那里 这样 那样 这么
    那么 有 没 没有 不 不是 也 都 就 还 又 再 很 太 最 更 非常 真 真的 真是 吗 呢 吧 啊 呀 哦 嗯 哈 哈哈 嘛 啦
    着 过 得 地 把 被 给 对 跟 与 及 或 或者 但 但是 而 而且 因为 所以 如果 虽然 可是 不过 然后 以及 并 并且 一
    一个 一些 一下 一点 一样 一直 一起 两 个 些 种 次 什么 怎么 怎样 为什么 哪 哪里 谁 多少 几 能 可以 可能 会
    要 想 应该 需要 让 使 从 到 向 往 于 之 其 上 下 里 中 来 去 说 看 做 用 像 等 等等 已经 正在 刚 刚才 只
    只是 好 好的 好像 觉得 知道 谢谢 你好 您 自己 大家 时候 现在 今天 有点 有些 还是 还有 就是 是不是 对于 关于
    之后 以后 之前 以前
    們 我們 你們 他們 她們 它們 這 這個 那個 這些 這裡 那裡 這樣 那樣 這麼 那麼 沒 沒有 還 嗎 著 過 給 對 與 並 並且
    因為 雖然 不過 然後 一個 一點 一樣 兩 個 種 什麼 怎麼 怎樣 為什麼 哪裡 誰 幾 會 應該 讓 從 於 裡 來 說
    已經 剛 剛才 覺得 謝謝 時候 現在 有點 還是 還有 對於 關於 之後 以後
    """.split()
)

FUNCTION_WORDS = ENGLISH | CHINESE
